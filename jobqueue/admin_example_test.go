package jobqueue_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"lessonkit.example/jobqueue"
	"lessonkit.example/jobqueue/sqlitequeue"
)

// openMails returns a queue with three mails to send, and a function that removes it.
func openMails() (*sqlitequeue.Store, func()) {
	store, remove := open()
	client := jobqueue.NewClient(store)
	for _, name := range []string{"ann", "ben", "cleo"} {
		_, err := client.Enqueue(context.Background(), jobqueue.Params{Kind: "mail", Queue: "mails", Args: name})
		if err != nil {
			log.Fatal(err)
		}
	}
	return store, remove
}

// A list is read page by page, the newest jobs first.
func ExampleClient_List() {
	store, remove := openMails()
	defer remove()
	client := jobqueue.NewClient(store)
	page := jobqueue.Filter{State: jobqueue.StateWaiting, Queue: "mails", Limit: 2}
	for {
		jobs, err := client.List(context.Background(), page)
		if err != nil || len(jobs) == 0 {
			fmt.Println(err)
			return
		}
		for _, job := range jobs {
			fmt.Println(job.Kind, string(job.Args))
			page.Before = job.ID
		}
	}
	// Output:
	// mail "cleo"
	// mail "ben"
	// mail "ann"
	// <nil>
}

// A queue is paused while what its jobs need is not available.
func ExampleClient_Pause() {
	store, remove := openMails()
	defer remove()
	ctx := context.Background()
	client := jobqueue.NewClient(store)
	show := func() {
		stats, err := client.Stats(ctx)
		mails := stats.Queue("mails")
		fmt.Println(mails.Waiting, "wait, paused:", mails.PausedUntil.After(time.Now()), err)
	}
	_ = client.Pause(ctx, "mails", time.Now().Add(time.Hour)) // without a time, until Resume
	show()
	_ = client.Resume(ctx, "mails")
	show()
	// Output:
	// 3 wait, paused: true <nil>
	// 3 wait, paused: false <nil>
}

// All jobs of a queue are cancelled, and later all those are retried.
func ExampleClient_RetryMany() {
	store, remove := openMails()
	defer remove()
	ctx := context.Background()
	client := jobqueue.NewClient(store)
	cancelled, skipped, err := client.CancelMany(ctx, jobqueue.Filter{State: jobqueue.StateWaiting, Queue: "mails"})
	fmt.Println(cancelled, "cancelled,", skipped, "skipped,", err)
	retried, skipped, err := client.RetryMany(ctx, jobqueue.Filter{State: jobqueue.StateCancelled, Queue: "mails"})
	fmt.Println(retried, "retried,", skipped, "skipped,", err)
	// Output:
	// 3 cancelled, 0 skipped, <nil>
	// 3 retried, 0 skipped, <nil>
}

// Schedules are inspected, paused and run by hand.
func ExampleClient_Schedules() {
	store, remove := openMails()
	defer remove()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	yearly, _ := jobqueue.Cron("@yearly", nil)
	worker := jobqueue.NewWorker(store, jobqueue.WorkerConfig{Schedules: []jobqueue.Schedule{
		{Name: "taxes", When: yearly, Params: jobqueue.Params{Kind: "taxes"}},
	}})
	jobqueue.Handle(worker, "taxes", func(context.Context, *jobqueue.Job, any) error {
		fmt.Println("taxes are paid")
		cancel()
		return nil
	})
	client := jobqueue.NewClient(store)
	go func() {
		var schedules []jobqueue.ScheduleInfo
		for len(schedules) == 0 && ctx.Err() == nil { // until the worker has stored it
			schedules, _ = client.Schedules(ctx)
			time.Sleep(10 * time.Millisecond)
		}
		for _, s := range schedules {
			fmt.Println(s.Name, s.Spec, s.NextAt.Format("2 January"))
			_ = client.PauseSchedule(ctx, s.Name)
			_ = client.ResumeSchedule(ctx, s.Name)
			_ = client.RunSchedule(ctx, s.Name)
		}
	}()
	_ = worker.Run(ctx)
	// Output:
	// taxes @yearly UTC 1 January
	// taxes are paid
}

package service

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	_ "github.com/pocketbase/pocketbase/migrations" // its system collections

	"lessonkit.example/internal/bench/harness"
)

// servePocketBase serves the same collections with the same indexes and rules. Its request log is
// off; everything else is the default.
func servePocketBase(ctx context.Context, s spec) {
	config := core.BaseAppConfig{DataDir: s.Dir}
	if s.Full {
		config.DBConnect = func(path string) (*dbx.DB, error) {
			return dbx.Open("sqlite",
				path+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=journal_size_limit(200000000)"+
					"&_pragma=synchronous(FULL)&_pragma=foreign_keys(ON)&_pragma=temp_store(MEMORY)"+
					"&_pragma=cache_size(-32000)")
		}
	}
	app := core.NewBaseApp(config)
	harness.Check(app.Bootstrap())
	harness.Check(app.RunAllMigrations())
	settings := app.Settings()
	settings.Logs.MaxDays = 0
	harness.Check(app.Save(settings))
	w := seedPocketBase(app)
	failed := make(chan error, 1)
	go func() { failed <- apis.Serve(app, apis.ServeConfig{HttpAddr: s.Addr}) }()
	harness.Check(await(s.Addr))
	harness.Report(w)
	select {
	case err := <-failed:
		harness.Check(err)
	case <-ctx.Done():
	}
}

// await waits until a server answers.
func await(addr string) error {
	var err error
	for range 400 {
		var res *http.Response
		if res, err = http.Get("http://" + addr + "/api/health"); err == nil {
			return res.Body.Close()
		}
		time.Sleep(25 * time.Millisecond)
	}
	return err
}

const (
	dateForm = `^\d{4}-\d{2}-\d{2}$`
	timeForm = `^(([01][0-9]|2[0-3]):[0-5][0-9])?$`
)

// pocketCollections creates the collections, whose records belong to users.
func pocketCollections(app core.App, users *core.Collection) {
	rule := `owner = @request.auth.id`
	owned := func(name string) *core.Collection {
		c := core.NewBaseCollection(name)
		c.ListRule, c.ViewRule, c.CreateRule, c.UpdateRule, c.DeleteRule = &rule, &rule, &rule, &rule, &rule
		c.Fields.Add(&core.RelationField{Name: "owner", CollectionId: users.Id, MaxSelect: 1, Required: true,
			CascadeDelete: true},
			&core.AutodateField{Name: "created", OnCreate: true})
		return c
	}
	least, most := 1900.0, 2200.0
	profiles := owned("profiles")
	profiles.Fields.Add(
		&core.TextField{Name: "name", Required: true, Max: 100}, &core.TextField{Name: "grade", Max: 100},
		&core.TextField{Name: "subject", Max: 100},
		&core.NumberField{Name: "academic_year", Min: &least, Max: &most, OnlyInt: true},
		&core.TextField{Name: "term", Max: 100},
		&core.TextField{Name: "guardian_title", Max: 100}, &core.TextField{Name: "start_time", Pattern: timeForm},
		&core.TextField{Name: "end_time", Pattern: timeForm},
		&core.AutodateField{Name: "updated", OnCreate: true, OnUpdate: true})
	profiles.AddIndex("idx_profiles_name", false, "owner, name", "")
	harness.Check(app.Save(profiles))
	records := owned("records")
	records.Fields.Add(
		&core.RelationField{Name: "profile", CollectionId: profiles.Id, MaxSelect: 1, Required: true,
			CascadeDelete: true},
		&core.TextField{Name: "feedback_date", Required: true, Pattern: dateForm},
		&core.TextField{Name: "content", Required: true, Max: 20_000})
	records.AddIndex("idx_records_owner", false, "owner, feedback_date, created", "")
	records.AddIndex("idx_records_profile", false, "owner, profile, feedback_date, created", "")
	harness.Check(app.Save(records))
	segments := owned("segments")
	segments.Fields.Add(&core.TextField{Name: "lesson", Required: true},
		&core.FileField{Name: "file", MaxSelect: 1, MaxSize: 128 << 20, Required: true})
	segments.AddIndex("idx_segments_lesson", false, "owner, lesson", "")
	harness.Check(app.Save(segments))
}

func seedPocketBase(app core.App) world {
	var w world
	users := harness.Must(app.FindCollectionByNameOrId("users"))
	pocketCollections(app, users)
	for i := range teachers {
		user := core.NewRecord(users)
		user.SetEmail(fmt.Sprintf("t%d@example.org", i))
		user.SetPassword("a long password")
		harness.Check(app.Save(user))
		token := harness.Must(user.NewAuthToken())
		w.Owners, w.Tokens = append(w.Owners, user.Id), append(w.Tokens, token)
	}
	now := time.Now().UTC().Format("2006-01-02 15:04:05.000Z")
	id := func(i int) string { return fmt.Sprintf("%015d", i) }
	harness.Check(app.RunInTransaction(func(tx core.App) error {
		for t, owner := range w.Owners {
			var profiles []string
			for i := range profilesOf {
				p := id(t*profilesOf + i)
				harness.Must(tx.DB().Insert("profiles", dbx.Params{
					"id": p, "owner": owner, "name": fmt.Sprintf("student %d", i), "grade": "3", "subject": "Art",
					"academic_year": 2026, "term": "spring", "guardian_title": "mother",
					"start_time": "09:00", "end_time": "10:30", "created": now, "updated": now,
				}).Execute())
				profiles = append(profiles, p)
			}
			w.Profiles = append(w.Profiles, profiles)
			w.Lessons = append(w.Lessons, "lesson"+id(t))
		}
		for i := 0; i < recordCount; {
			var rows []string
			for range 100 {
				t := i % teachers
				rows = append(rows, fmt.Sprintf("('%s','%s','%s','%s','%s','%s')", id(i), w.Owners[t],
					w.Profiles[t][i/teachers%profilesOf], date(i), content(i), now))
				i++
			}
			insert := "insert into records (id, owner, profile, feedback_date, content, created) values "
			harness.Must(tx.DB().NewQuery(insert + strings.Join(rows, ",")).Execute())
		}
		_, err := tx.DB().NewQuery("analyze").Execute()
		return err
	}))
	return w
}

// Package imagegentest is a fake image-generation service for tests: it speaks the whole interface, answers in every mode,
// misbehaves by script, counts what was generated and charged, and reports clients that break the interface's rules.
//
// [New] starts one in memory, so that inside a testing/synctest bubble polls that are seconds apart take no time; [Server.Listen]
// opens it on a loopback port too, for programs. [Server.Config] is the configuration of an imagegen.Client for it.
package imagegentest

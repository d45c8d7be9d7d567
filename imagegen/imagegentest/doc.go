// Package imagegentest is a fake image-generation service for tests: it implements the whole
// interface, responds in every mode, fails as scripted, counts what was generated and charged, and
// reports clients that violate the interface.
//
//	server := imagegentest.New(t, imagegentest.Options{})
//	client, err := imagegen.New(server.Config())
//
// [New] starts one in memory, so that polls that are seconds apart take no time inside a
// testing/synctest bubble. [Server.Listen] also serves it on a loopback port, for other programs.
package imagegentest

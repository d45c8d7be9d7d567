// Package authtest helps to test programs that use package auth: [NewPlatform]
// is a mini-program platform to sign in at, with all its moods, and
// [StoreSuite] proves that an [auth.Store] keeps its promises.
package authtest

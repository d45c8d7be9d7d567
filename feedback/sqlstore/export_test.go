package sqlstore

import "time"

// SetSearchTimeout must be called before the store is used.
func (s *Store) SetSearchTimeout(d time.Duration) { s.searchTimeout = d }

// HoldSearches lets searches on SQLite wait until release is called.
func (s *Store) HoldSearches() (release func()) {
	s.searching.TryAcquire(1)
	return func() { s.searching.Release(1) }
}

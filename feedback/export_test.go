package feedback

import "context"

// Sweep is one sweep of Run.
func (s *Service) Sweep(ctx context.Context) error { return s.sweep(ctx) }

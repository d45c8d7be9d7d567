package feedback

import (
	"context"
	"errors"

	"github.com/google/uuid"
)

// CreateProfile makes a profile. Errors: [ErrInvalid].
func (s *Service) CreateProfile(ctx context.Context, teacher uuid.UUID, in ProfileInput) (Profile, error) {
	p, err := s.profile(ctx, teacher, in)
	if err != nil {
		return Profile{}, err
	}
	if p.ID, err = newID(); err != nil {
		return Profile{}, err
	}
	p.TeacherID = teacher
	p.CreatedAt = s.now()
	p.UpdatedAt = p.CreatedAt
	return p, s.store.InsertProfile(ctx, p)
}

// ReplaceProfile replaces a whole profile by the rules of CreateProfile.
// Errors: [ErrInvalid], [ErrNotFound].
func (s *Service) ReplaceProfile(ctx context.Context, teacher, id uuid.UUID, in ProfileInput) (Profile, error) {
	p, err := s.profile(ctx, teacher, in)
	if err != nil {
		return Profile{}, err
	}
	p.ID, p.TeacherID, p.UpdatedAt = id, teacher, s.now()
	return s.store.ReplaceProfile(ctx, p)
}

func (s *Service) profile(ctx context.Context, teacher uuid.UUID, in ProfileInput) (Profile, error) {
	d, err := s.Defaults(ctx, teacher)
	if err != nil {
		return Profile{}, err
	}
	return in.profile(d, s.cfg.Now().In(s.cfg.Location).Year())
}

// Profile reads one profile. Errors: [ErrNotFound].
func (s *Service) Profile(ctx context.Context, teacher, id uuid.UUID) (Profile, error) {
	return s.store.Profile(ctx, teacher, id)
}

// Profiles lists profiles by name. Errors: [ErrInvalid].
func (s *Service) Profiles(ctx context.Context, teacher uuid.UUID, f ProfileFilter, p Page) (List[Profile], error) {
	limit, err := p.limit()
	if err != nil {
		return List[Profile]{}, err
	}
	var v validator
	v.line("query", f.Query) // SQLite refuses to look for very long ones
	v.line("grade", f.Grade)
	v.line("subject", f.Subject)
	if err := v.err(); err != nil {
		return List[Profile]{}, err
	}
	c, err := parseCursor(p.Cursor, "profiles", 1)
	if err != nil {
		return List[Profile]{}, err
	}
	var after *ProfileKey
	if c != nil {
		after = &ProfileKey{Name: c.Key[0], ID: c.ID}
	}
	items, err := s.store.Profiles(ctx, teacher, f, after, limit+1)
	if err != nil {
		return List[Profile]{}, err
	}
	return cut(items, limit, func(p Profile) cursor {
		return cursor{List: "profiles", Key: []string{p.Name}, ID: p.ID}
	}), nil
}

// DeleteProfile removes a profile with all that belongs to it; recordings go
// by durable tasks. Errors: [ErrNotFound].
func (s *Service) DeleteProfile(ctx context.Context, teacher, id uuid.UUID) error {
	return s.store.DeleteProfile(ctx, teacher, id)
}

// Defaults reads what new profiles start from: what the teacher saved, else
// [Config.Defaults].
func (s *Service) Defaults(ctx context.Context, teacher uuid.UUID) (Defaults, error) {
	d, err := s.store.Defaults(ctx, teacher)
	if errors.Is(err, ErrNotFound) {
		return s.cfg.Defaults, nil
	}
	return d, err
}

// SaveDefaults saves what new profiles start from. Errors: [ErrInvalid].
func (s *Service) SaveDefaults(ctx context.Context, teacher uuid.UUID, d Defaults) error {
	if err := d.validate(); err != nil {
		return err
	}
	return s.store.SaveDefaults(ctx, teacher, d, s.now())
}

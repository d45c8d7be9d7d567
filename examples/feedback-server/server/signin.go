package server

import (
	"fmt"

	"lessonkit.example/auth"
	"lessonkit.example/auth/authhttp"
	"lessonkit.example/auth/miniapp"
	authstore "lessonkit.example/auth/sqlstore"
	"lessonkit.example/internal/migrate"
)

func (s *Server) buildAuth() error {
	if s.db.Engine == migrate.SQLite {
		s.authDB = authstore.NewSQLite(s.db.W, s.db.R)
	} else {
		s.authDB = authstore.NewPostgres(s.db.W)
	}
	c := auth.Config{
		Store:            s.authDB,
		AllowDevelopment: s.config.AllowDevelopmentUser,
		Production:       s.config.Production(),
		Logger:           s.log,
	}
	if s.config.MiniappConfigured() {
		platform, err := miniapp.New(miniapp.Config{
			AppID:    s.config.MiniappAppID,
			Secret:   s.config.MiniappAppSecret,
			Endpoint: s.config.MiniappAPIURL,
		})
		if err != nil {
			return fmt.Errorf("MINIAPP_API_URL: %w", err)
		}
		c.Exchanger = platform
	}
	var err error
	s.auth, err = auth.New(c)
	return err
}

func (s *Server) authConfig() authhttp.Config {
	proxies, err := s.config.trustedProxies()
	if err != nil {
		panic(err) // ParseConfig has checked them
	}
	return authhttp.Config{Service: s.auth, TrustedProxies: proxies}
}

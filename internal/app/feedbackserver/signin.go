package feedbackserver

import (
	"fmt"
	"net/netip"

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
		Store:             s.authDB,
		DevelopmentHeader: s.config.AllowDevelopmentUser,
		Production:        s.config.Production(),
		Logger:            s.log,
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
	return authhttp.Config{Service: s.auth, TrustedProxies: trustedProxies(s.config.TrustedProxies)}
}

// trustedProxies reads what [ParseConfig] has checked.
func trustedProxies(networks []string) []netip.Prefix {
	var prefixes []netip.Prefix
	for _, network := range networks {
		if p, err := netip.ParsePrefix(network); err == nil {
			prefixes = append(prefixes, p)
		} else if a, err := netip.ParseAddr(network); err == nil {
			prefixes = append(prefixes, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	return prefixes
}

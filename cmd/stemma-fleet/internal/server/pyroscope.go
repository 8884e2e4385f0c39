package server

import "os"

// NewPyroscope returns the Pyroscope at an address. Its credentials are in the URL, or in the variables that agents of
// Grafana take, as the tenant is.
func NewPyroscope(address string) (s *Server, tenant string, err error) {
	if s, err = New(address); err != nil {
		return nil, "", err
	}
	s.Credentials("PYROSCOPE_BASIC_AUTH_USER", "PYROSCOPE_BASIC_AUTH_PASSWORD")
	s.Header.Set("Connect-Protocol-Version", "1")
	if tenant = os.Getenv("PYROSCOPE_TENANT_ID"); tenant != "" {
		s.Header.Set("X-Scope-OrgID", tenant)
	}
	return s, tenant, nil
}

package main

import "time"

func (s *session) treesTime() time.Duration { return 0 }

func (s *session) trees() error { return nil }

package main

import "time"

func (s *session) encodersTime() time.Duration { return 0 }

func (s *session) encoders() error { return nil }

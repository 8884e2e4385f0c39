package main

import "time"

func (s *session) scalingTime() time.Duration { return 0 }

func (s *session) scaling() error { return nil }

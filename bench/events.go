package main

import "time"

func (s *session) eventsTime() time.Duration { return 0 }

func (s *session) events() error { return nil }

package main

import "time"

func (s *session) replayTime() time.Duration { return 0 }

func (s *session) replay() error { return nil }

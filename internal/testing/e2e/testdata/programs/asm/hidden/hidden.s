// Package hidden declares functions without a body.

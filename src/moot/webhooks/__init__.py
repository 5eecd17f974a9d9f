"""Webhooks out: programs elsewhere are told what became of debates."""

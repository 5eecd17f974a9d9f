"""Workers: processes that speak the waves they are sent."""

package main

func generated(t *tool, count int, seed int64) bool { return true }
func texts(t *tool, file string) bool               { return true }

package main

import "github.com/google/cel-go/checker"

// nothing knows no sizes.
type nothing struct{}

func (nothing) EstimateSize(checker.AstNode) *checker.SizeEstimate { return nil }
func (nothing) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}

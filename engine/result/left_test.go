package result

import "testing"

// A failure that is left to take care of is told once, that of a nested stack too
// (S-304).
func TestFailuresBesideLeft(t *testing.T) {
	s := &Stack{
		Failures: []Failure{
			{LogicalID: "B", PhysicalID: "b", Message: "not empty"},
			{LogicalID: "Net/C", PhysicalID: "c", Message: "in use"},
			{LogicalID: "D", PhysicalID: "d", Message: "denied"},
			{LogicalID: "E", PhysicalID: "e", Message: "denied"},
		},
		Unaddressed: []Unaddressed{
			{Stack: "S", LogicalID: "B", PhysicalID: "b", Reason: "not empty"},
			{Stack: "S~Net", LogicalID: "C", PhysicalID: "c", Reason: "in use"},
			{Stack: "S", LogicalID: "D", PhysicalID: "d", Reason: "something else"},
		},
	}
	beside := s.FailuresBesideLeft()
	if len(beside) != 2 || beside[0].LogicalID != "D" || beside[1].LogicalID != "E" || len(s.Failures) != 4 {
		t.Errorf("beside what is left: %+v, of %d", beside, len(s.Failures))
	}
}

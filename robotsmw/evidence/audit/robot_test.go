package audit

import "testing"

// A robot in Auditor.Groups shares fetched files with the robot whose group is
// the last one in its list, even if that robot is in the built-in list and its
// family has another name.
func TestNewProduct_Family(t *testing.T) {
	more := map[string][]string{
		"GoogleNew":        {"GoogleNew", "Googlebot"},
		"YandexNew":        {"YandexNew", "Yandex"},
		"ExampleBot-Image": {"ExampleBot-Image", "ExampleBot"},
	}
	tests := []struct{ robot, sharesWith string }{
		{"GoogleNew", "Googlebot"},
		{"googlenew", "Googlebot-Image"},
		{"YandexNew", "YandexBot"},
		{"ExampleBot-Image", "ExampleBot"},
	}
	for _, tt := range tests {
		got := newProduct(tt.robot, more).family
		want := newProduct(tt.sharesWith, more).family
		if got != want {
			t.Errorf("the family of %s is %q, want %q, the family of %s", tt.robot, got, want, tt.sharesWith)
		}
	}
}

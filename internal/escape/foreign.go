package escape

import "strings"

// Foreign returns what somebody else wrote as one line of at most so many characters.
// hide takes secrets out. It is asked before the text is changed, since a part of a
// secret may not be known for what it is, and again when markup that parted one is
// gone.
func Foreign(text string, hide func(string) string, most int) string {
	text = strings.Join(strings.Fields(Page(hide(text))), " ")
	return Line(hide(text), most)
}

package azure
import ("testing";"strings")
func TestZZ(t *testing.T){ t.Log(credentialName("repo:octo-org/octo-repo:environment:a%3Ab"), credentialName("repo:octo-org/octo-repo:environment:"+strings.Repeat("a",254)+"1")) }

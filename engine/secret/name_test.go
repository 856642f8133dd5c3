package secret_test

import (
	"testing"

	"github.com/org/cdkd-action/engine/secret"
)

// A name can only be refused, so what is an ordinary one must not be (G-8.11).
func TestInName(t *testing.T) {
	known := &secret.Set{}
	known.AddNoEcho("84729163507")
	known.AddNoEcho("production")   // a word, which no name is refused for
	known.AddNoEcho("2026")         // nor is a year
	known.AddNoEcho("Corr3ctHorse") // nor does it matter how it is written
	known.AddDerived("correcthorsebatterystaple")
	for name, want := range map[string]string{
		"Named-AKIAIOSFODNN7EXAMPLE":                     "Named-***",
		"Shop-glpat-aB3dE5fG7hI9kL1mN3pQ":                "Shop-***",
		"Bot-sk-proj-aB3dE5fG7hI9kL1mN3pQ5rS7":           "Bot-***",
		"Key-wJa4rXU9nFEMIK7MD3NGbP2xRfiCYz8aQk5EYvL0Tp": "Key-wJa4rXU9nFEMIK7MD3NGbP2xRfiCYz8aQk5EYvL0Tp", // of 42 characters: no key has as many
		"Key-wJa4rXU9nFEMIK7MD3NGbP2xRfiCYz8aQk5EYvL0":   "Key-***",
		"Shop-84729163507":                               "Shop-***",
		"shop-corr3cthorse-eu":                           "shop-***-eu",
		"Shop-CorrectHorseBatteryStaple":                 "Shop-***",
		"Shop-Q29ycjNjdEhvcnNl":                          "Shop-***", // in base64

		"Shop": "", "Shop-production-2026": "", "shop-sk-bratislava-production-eu-central-1": "", "sk-BratislavaProductionServiceApi": "",
		"DevStageShopServiceApiGatewayStackV2Prod": "", "Preview2024ShopServiceApiGatewayStackV2X": "",
		"ShopStorage8C3F0A1B2D4E5F60718293A4B5C6D7E8": "", "Preview-1234-Web": "", "GetPutAllJobsRunAppApiWebSvcDevTstQasPrd": "",
	} {
		if want == "" {
			want = name
		}
		got, found := known.InName(name)
		if got != want || found != (want != name) {
			t.Errorf("%s is %s, %t; want %s", name, got, found, want)
		}
	}
	if got, found := (*secret.Set)(nil).InName("Named-AKIAIOSFODNN7EXAMPLE"); got != "Named-***" || !found {
		t.Errorf("without anything known: %s, %t", got, found)
	}
}

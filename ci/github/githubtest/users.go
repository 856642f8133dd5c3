package githubtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// A User is who a token belongs to, or who wrote a comment.
type User struct {
	Login string
	ID    int64
	Type  string // User or Bot
}

// MarshalJSON writes all that GitHub says of a user.
func (u User) MarshalJSON() ([]byte, error) {
	at := "https://api.github.com/users/" + url.PathEscape(u.Login)
	all := map[string]any{
		"login": u.Login, "id": u.ID, "type": u.Type, "node_id": fmt.Sprint("U_", u.ID), "site_admin": false, "gravatar_id": "",
		"avatar_url": "https://avatars.githubusercontent.com/u/" + fmt.Sprint(u.ID), "html_url": "https://github.com/" + url.PathEscape(u.Login), "url": at,
	}
	for _, list := range []string{"followers", "following", "gists", "starred", "subscriptions", "organizations", "repos", "events", "received_events"} {
		name := list
		if list == "organizations" {
			name = "orgs"
		}
		all[list+"_url"] = at + "/" + name
	}
	return json.Marshal(all)
}

// Actions is the user of a workflow's own token.
var Actions = User{Login: "github-actions[bot]", ID: 41898282, Type: "Bot"}

func (s *Server) user(w http.ResponseWriter, _ *http.Request, t token) {
	if t.user.Type == "Bot" {
		refuse(w, http.StatusForbidden, "Resource not accessible by integration")
		return
	}
	text, _ := json.Marshal(t.user)
	var all map[string]any
	if json.Unmarshal(text, &all) != nil {
		panic("a user is no JSON object")
	}
	for _, n := range []string{"public_repos", "public_gists", "followers", "following"} {
		all[n] = 0
	}
	for _, n := range []string{"name", "company", "blog", "location", "email", "hireable", "bio"} {
		all[n] = nil
	}
	all["user_view_type"] = "public"
	all["blog"], all["created_at"], all["updated_at"] = "", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"
	reply(w, http.StatusOK, all)
}

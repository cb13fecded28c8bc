"""A small GitHub: the endpoints, parameters, pages and limits that its REST documentation describes."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from tests.support.http_api import Call, HttpApi, Reply

T0 = datetime(2026, 1, 1, tzinfo=UTC)
MOST_PER_PAGE, USUAL_PER_PAGE = 100, 30


def at(seconds: float) -> str:
    """A time as GitHub writes it, so many seconds after the start of 2026."""
    return (T0 + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def user(login: str) -> dict[str, Any]:
    url = f"https://api.github.com/users/{login}"
    lists = (
        "followers",
        "following",
        "gists",
        "starred",
        "subscriptions",
        "organizations",
        "repos",
        "events",
    )
    return {
        "login": login,
        "id": len(login) * 1000,
        "node_id": f"U_{login}",
        "avatar_url": f"https://avatars.githubusercontent.com/{login}",
        "gravatar_id": "",
        "url": url,
        "html_url": f"https://github.com/{login}",
        **{
            f"{name}_url": f"{url}/{'orgs' if name == 'organizations' else name}"
            for name in (*lists, "received_events")
        },
        "type": "User",
        "user_view_type": "public",
        "site_admin": False,
    }


def label(name: str) -> dict[str, Any]:
    return {
        "id": len(name),
        "node_id": f"LA_{name}",
        "url": f"https://api.github.com/labels/{name}",
        "name": name,
        "color": "d73a4a",
        "default": True,
        "description": None,
    }


@dataclass(slots=True, kw_only=True)
class Repository:
    """Issues and pull requests by number, and comments by number; ids are its own, as all of GitHub's are."""

    name: str
    first_id: int = 10_000
    entries: dict[int, dict[str, Any]] = field(default_factory=dict)
    remarks: dict[int, dict[str, Any]] = field(default_factory=dict)

    def add_issue(self, number: int, *, seconds: float, state: str = "open", **more: Any) -> None:
        url = f"https://api.github.com/repos/{self.name}/issues/{number}"
        self.entries[number] = {
            "url": url,
            "repository_url": f"https://api.github.com/repos/{self.name}",
            "labels_url": f"{url}/labels{{/name}}",
            "comments_url": f"{url}/comments",
            "events_url": f"{url}/events",
            "html_url": f"https://github.com/{self.name}/issues/{number}",
            "id": self.first_id + number,
            "node_id": f"I_{number}",
            "number": number,
            "title": f"issue {number}",
            "user": user("octocat"),
            "labels": [label("bug")],
            "state": state,
            "locked": False,
            "assignee": None,
            "assignees": [],
            "milestone": None,
            "comments": 0,
            "created_at": at(0),
            "updated_at": at(seconds),
            "closed_at": at(seconds) if state == "closed" else None,
            "author_association": "OWNER",
            "active_lock_reason": None,
            "body": "It does not work.",
            "closed_by": None,
            "reactions": {"url": f"{url}/reactions", "total_count": 1, "+1": 1, "-1": 0, "laugh": 0},
            "timeline_url": f"{url}/timeline",
            "performed_via_github_app": None,
            "state_reason": None,
            **more,
        }

    def add_pull_request(self, number: int, *, seconds: float, state: str = "open") -> None:
        url = f"https://api.github.com/repos/{self.name}/pulls/{number}"
        self.add_issue(number, seconds=seconds, state=state, pull_request={"url": url, "merged_at": None})

    def add_comment(self, number: int, *, seconds: float, issue: int = 1) -> None:
        url = f"https://api.github.com/repos/{self.name}/issues/comments/{number}"
        self.remarks[number] = {
            "url": url,
            "html_url": f"https://github.com/{self.name}/issues/{issue}#issuecomment-{number}",
            "issue_url": f"https://api.github.com/repos/{self.name}/issues/{issue}",
            "id": self.first_id + number,
            "node_id": f"IC_{number}",
            "user": user("hubot"),
            "created_at": at(0),
            "updated_at": at(seconds),
            "author_association": "NONE",
            "body": "Me too.",
            "reactions": {"url": f"{url}/reactions", "total_count": 0},
            "performed_via_github_app": None,
        }

    def touch(self, number: int, *, seconds: float) -> None:
        """Somebody changes an issue or a pull request."""
        self.entries[number] = {**self.entries[number], "updated_at": at(seconds)}

    def pulls(self) -> list[dict[str, Any]]:
        """As the endpoint for pull requests shows them: other fields than an issue has."""
        return [self._pull(entry) for entry in self.entries.values() if "pull_request" in entry]

    def _pull(self, entry: dict[str, Any]) -> dict[str, Any]:
        url = entry["pull_request"]["url"]
        shared = (
            "id",
            "node_id",
            "number",
            "state",
            "locked",
            "title",
            "user",
            "body",
            "labels",
            "milestone",
        )
        times = ("created_at", "updated_at", "closed_at", "assignee", "assignees", "author_association")
        branch = {"label": "octocat:main", "ref": "main", "sha": "6dcb09b", "user": user("octocat")}
        return {
            **{name: entry[name] for name in (*shared, *times)},
            "url": url,
            "html_url": f"https://github.com/{self.name}/pull/{entry['number']}",
            "merged_at": None,
            "merge_commit_sha": None,
            "requested_reviewers": [user("hubot")],
            "requested_teams": [],
            "head": {**branch, "repo": {"id": 1, "full_name": self.name}},
            "base": {**branch, "repo": None},
            "_links": {"self": {"href": url}},
            "auto_merge": None,
            "draft": False,
        }


class GithubApi(HttpApi):
    """Knows some repositories, one token, and how many calls an hour are allowed."""

    def __init__(self, *repositories: Repository, token: str = "") -> None:
        super().__init__(self._answered)
        self.repositories = {repository.name: repository for repository in repositories}
        self.token = token
        self.left = 5000 if token else 60
        self.resets_at = int(T0.timestamp()) + 3600

    def _answered(self, call: Call) -> Reply:
        if not call.headers.get("user-agent"):
            return _said(403, "Request forbidden by administrative rules.")
        given = call.headers.get("authorization")
        if given is not None and given != f"Bearer {self.token}":
            return _said(401, "Bad credentials")
        limits = {"x-ratelimit-limit": "5000" if given else "60", "x-ratelimit-reset": str(self.resets_at)}
        if self.left <= 0:
            return _said(403, "API rate limit exceeded", {**limits, "x-ratelimit-remaining": "0"})
        self.left -= 1
        limits["x-ratelimit-remaining"] = str(self.left)
        owner_and_name, _, rest = call.path.removeprefix("/repos/").partition("/issues")
        reply = self._listed(call, owner_and_name.removesuffix("/pulls"), rest)
        return Reply(body=reply.body, status=reply.status, headers={**limits, **reply.headers})

    def _listed(self, call: Call, name: str, rest: str) -> Reply:
        repository = self.repositories.get(name)
        if repository is None:
            return _said(404, "Not Found")
        wanted = call.params
        if call.path.endswith("/pulls"):
            usual = "desc" if wanted.get("sort", "created") == "created" else "asc"
            found = _with_state(repository.pulls(), wanted)
            return self._page(call, _sorted(found, wanted, usual))
        if rest == "/comments":
            return self._page(call, _sorted(_since([*repository.remarks.values()], wanted), wanted, "asc"))
        if call.path.endswith("/issues"):
            found = _since(_with_state([*repository.entries.values()], wanted), wanted)
            return self._page(call, _sorted(found, wanted, "desc"))
        return Reply(body={"id": 1, "full_name": name, "created_at": at(0)})

    def _page(self, call: Call, records: list[dict[str, Any]]) -> Reply:
        size = min(int(call.params.get("per_page", USUAL_PER_PAGE)), MOST_PER_PAGE)
        page = int(call.params.get("page", 1))
        last = max(1, -(-len(records) // size))
        links = []
        if page < last:
            links += [self._link(call, page + 1, "next"), self._link(call, last, "last")]
        if page > 1:
            links += [self._link(call, page - 1, "prev"), self._link(call, 1, "first")]
        headers = {"link": ", ".join(links)} if links else {}
        return Reply(body=records[(page - 1) * size : page * size], headers=headers)

    def _link(self, call: Call, page: int, rel: str) -> str:
        return f'<{self.url}{call.path}?{urlencode({**call.params, "page": page})}>; rel="{rel}"'


def _said(status: int, message: str, headers: dict[str, str] | None = None) -> Reply:
    return Reply(status=status, body={"message": message, "status": str(status)}, headers=headers or {})


def _with_state(records: list[dict[str, Any]], wanted: dict[str, str]) -> list[dict[str, Any]]:
    state = wanted.get("state", "open")
    return [record for record in records if state in ("all", record["state"])]


def _since(records: list[dict[str, Any]], wanted: dict[str, str]) -> list[dict[str, Any]]:
    return [record for record in records if record["updated_at"] >= wanted.get("since", "")]


def _sorted(records: list[dict[str, Any]], wanted: dict[str, str], usual: str) -> list[dict[str, Any]]:
    column = "updated_at" if wanted.get("sort") == "updated" else "created_at"
    is_down = wanted.get("direction", usual) == "desc"
    return sorted(records, key=lambda record: (record[column], record["id"]), reverse=is_down)

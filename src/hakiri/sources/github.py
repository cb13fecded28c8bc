"""The connector `github`: issues, pull requests and comments of repositories, by GitHub's REST API."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from hakiri.manifest.fields import OrShort
from hakiri.sources.config import SecretTemplate, SourceConfig, Template, refuse_value
from hakiri.sources.contract import Context
from hakiri.sources.errors import PermanentFailure
from hakiri.sources.rest import RestConfig, RestConnector, config_from
from hakiri.sources.rest.addresses import address
from hakiri.sources.rest.client import BRIEF
from hakiri.sources.rest.config import Url
from hakiri.sources.rest.errors import AskRefused

TOKEN = "GITHUB_TOKEN"  # noqa: S105 - the name of a secret
PUBLIC_API = "https://api.github.com"
RATE_WITH_TOKEN, RATE_WITHOUT = "5000/h", "60/h"
PAGE_RECORDS = 100
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)

_USER = (
    "struct<login:string,id:bigint,node_id:string,avatar_url:string,gravatar_id:string,url:string,"
    "html_url:string,followers_url:string,following_url:string,gists_url:string,starred_url:string,"
    "subscriptions_url:string,organizations_url:string,repos_url:string,events_url:string,"
    "received_events_url:string,type:string,user_view_type:string,site_admin:boolean,name:string,email:string>"
)
_LABELS = (
    "array<struct<id:bigint,node_id:string,url:string,name:string,color:string,default:boolean,"
    "description:string>>"
)
_MILESTONE = (
    "struct<url:string,html_url:string,labels_url:string,id:bigint,node_id:string,number:bigint,title:string,"
    f"description:string,creator:{_USER},open_issues:bigint,closed_issues:bigint,state:string,"
    "created_at:string,updated_at:string,due_on:string,closed_at:string>"
)
_REACTIONS = (
    "struct<url:string,total_count:bigint,`+1`:bigint,`-1`:bigint,laugh:bigint,hooray:bigint,confused:bigint,"
    "heart:bigint,rocket:bigint,eyes:bigint>"
)
_TEAMS = (
    "array<struct<id:bigint,node_id:string,name:string,slug:string,description:string,privacy:string,"
    "notification_setting:string,permission:string,url:string,html_url:string,members_url:string,"
    "repositories_url:string,parent:json>>"
)
# The repository at either end of a pull request has some hundred fields, which are the same in every row.
_BRANCH = f"struct<label:string,ref:string,sha:string,user:{_USER},repo:json>"

ISSUES = {
    "id": "bigint",
    "node_id": "string",
    "number": "bigint",
    "title": "string",
    "state": "string",
    "state_reason": "string",
    "body": "string",
    "user": _USER,
    "labels": _LABELS,
    "assignee": _USER,
    "assignees": f"array<{_USER}>",
    "milestone": _MILESTONE,
    "locked": "boolean",
    "active_lock_reason": "string",
    "comments": "bigint",
    "draft": "boolean",
    "created_at": "string",
    "updated_at": "string",
    "closed_at": "string",
    "closed_by": _USER,
    "author_association": "string",
    "reactions": _REACTIONS,
    "type": "json",
    "sub_issues_summary": "struct<total:bigint,completed:bigint,percent_completed:bigint>",
    "issue_dependencies_summary": (
        "struct<blocked_by:bigint,total_blocked_by:bigint,blocking:bigint,total_blocking:bigint>"
    ),
    "issue_field_values": "json",
    "pinned_comment": "json",
    "performed_via_github_app": "json",
    "parent_issue_url": "string",
    "url": "string",
    "repository_url": "string",
    "labels_url": "string",
    "comments_url": "string",
    "events_url": "string",
    "html_url": "string",
    "timeline_url": "string",
}
PULL_REQUESTS = {
    "id": "bigint",
    "node_id": "string",
    "number": "bigint",
    "title": "string",
    "state": "string",
    "body": "string",
    "user": _USER,
    "labels": _LABELS,
    "assignee": _USER,
    "assignees": f"array<{_USER}>",
    "requested_reviewers": f"array<{_USER}>",
    "requested_teams": _TEAMS,
    "milestone": _MILESTONE,
    "draft": "boolean",
    "locked": "boolean",
    "active_lock_reason": "string",
    "created_at": "string",
    "updated_at": "string",
    "closed_at": "string",
    "merged_at": "string",
    "merge_commit_sha": "string",
    "head": _BRANCH,
    "base": _BRANCH,
    "author_association": "string",
    "auto_merge": "json",
    "_links": "json",
    "url": "string",
    "html_url": "string",
    "diff_url": "string",
    "patch_url": "string",
    "issue_url": "string",
    "commits_url": "string",
    "review_comments_url": "string",
    "review_comment_url": "string",
    "comments_url": "string",
    "statuses_url": "string",
}
COMMENTS = {
    "id": "bigint",
    "node_id": "string",
    "body": "string",
    "user": _USER,
    "created_at": "string",
    "updated_at": "string",
    "author_association": "string",
    "reactions": _REACTIONS,
    "pin": "json",
    "performed_via_github_app": "json",
    "url": "string",
    "html_url": "string",
    "issue_url": "string",
}


def _checked_repository(name: str) -> str:
    if not _REPOSITORY.fullmatch(name):
        refuse_value("is no repository", "write it as in `owner/name`")
    return name


def _checked_repositories(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names or len(set(names)) < len(names):
        refuse_value("is empty, or has a repository twice", "write each repository once")
    return names


def _alone(name: str) -> tuple[str, ...]:
    return (name,)


Repository = Annotated[str, AfterValidator(_checked_repository)]


class GithubConfig(SourceConfig):
    """Which repositories, and where."""

    repo: Annotated[
        tuple[Repository, ...], AfterValidator(_checked_repositories), OrShort(_alone, Repository)
    ] = Field(description="write a repository as in `owner/name`, or a list of them")
    base_url: Url = Field(PUBLIC_API, description="the API of a GitHub of your own")
    token: SecretTemplate | None = Field(
        None, description=f"the token; by default the secret {TOKEN}, if the pipeline has it"
    )


class GithubConnector(RestConnector):
    """Each repository is a partition, and a column `repo` says which one a row is from."""

    Config = GithubConfig
    summary = "issues, pull requests and comments of GitHub repositories"

    def __init__(self, config: GithubConfig, context: Context) -> None:
        token = config.token
        if token is None and TOKEN in context.secrets:
            token = Template(f"${{{TOKEN}}}")
        super().__init__(_api(config, token), context)
        self._repositories = config.repo
        self._has_token = token is not None

    def check(self) -> str:
        client = self.new_client(backoff=BRIEF)
        for name in self._repositories:
            asked = address(self.config.base_url, f"repos/{name}", {}, {})
            try:
                answer = client.get(asked, about=f"repository `{name}`")
            except AskRefused as refused:
                raise PermanentFailure(
                    f"there is no repository `{name}` at {self.config.base_url} that can be read: {refused}",
                    hint=f"check `repo`; one that is not public needs the secret {TOKEN}",
                ) from None
        left = answer.headers.get("x-ratelimit-remaining")
        calls = f", {left} calls left in this hour" if left else ""
        who = "with a token" if self._has_token else "without a token"
        return f"{', '.join(self._repositories)} at {self.config.base_url}, {who}{calls}"


def _api(config: GithubConfig, token: Template | None) -> RestConfig:
    shared = {"primary_key": ["id"], "infer": False, "partitions": {"repo": config.repo}}
    # GitHub's pages are counted, so that a record that changes meanwhile moves all later ones: not the next
    # page is asked for, but what has changed since the last record. GitHub's times are whole seconds, and
    # whether `since` includes its own is not said.
    upwards = {
        "field": "updated_at",
        "param": "since",
        "order": "asc",
        "keyset": True,
        "lookback": "1s",
        "window": "30d",
    }
    return config_from(
        {
            "base_url": config.base_url,
            "auth": None if token is None else {"type": "bearer", "token": token.text},
            "headers": {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"},
            "pagination": {"type": "link", "size": PAGE_RECORDS, "size_param": "per_page"},
            "rate_limit": RATE_WITHOUT if token is None else RATE_WITH_TOKEN,
            "resources": [
                {
                    **shared,
                    "name": "issues",
                    "path": "repos/{repo}/issues",
                    "params": {"state": "all", "sort": "updated", "direction": "asc"},
                    # To this endpoint a pull request is an issue too.
                    "without": "pull_request",
                    "columns": ISSUES,
                    "incremental": upwards,
                },
                {
                    **shared,
                    "name": "pull_requests",
                    "path": "repos/{repo}/pulls",
                    # This one takes no `since`: it is read from the newest on, until what is known already.
                    "params": {"state": "all", "sort": "updated", "direction": "desc"},
                    "columns": PULL_REQUESTS,
                    "incremental": {"field": "updated_at", "order": "desc"},
                },
                {
                    **shared,
                    "name": "comments",
                    "path": "repos/{repo}/issues/comments",
                    "params": {"sort": "updated", "direction": "asc"},
                    "columns": COMMENTS,
                    "incremental": upwards,
                },
            ],
        }
    )

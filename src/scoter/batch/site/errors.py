"""The worst problems of a site: what each means, what to do, and the SQL that finds it."""
# ruff: noqa: S608 - only constants are formatted into the SQL

from __future__ import annotations

from typing import Final

from scoter.batch.site.problem_kind import (
    FAILED,
    INTERNAL,
    IS_LOADED,
    SEEN,
    ProblemKind,
    link_problem,
    missing,
)
from scoter.batch.site.state import CLICKED, LOADED

# BCP 47, as far as search engines read it.
LANGUAGE = "^(x-default|[a-z]{2,3}(-[a-z]{4})?(-([a-z]{2}|[0-9]{3}))?)$"

ERRORS: Final = (
    ProblemKind(
        name="broken-links",
        severity="error",
        group="broken",
        sentence="Links to pages of this site that do not work.",
        advice="Correct the address in the link, remove the link, or restore the page (or redirect its old address).",
        sql=f"""
            {link_problem(f"v.outcome = 'broken' AND {INTERNAL} AND NOT {IS_LOADED}")}
            UNION ALL
            SELECT s.url, NULL, 'start page', v.why, 0 FROM starts AS s JOIN verdicts AS v USING (url)
            WHERE v.outcome = 'broken'""",
    ),
    ProblemKind(
        name="broken-external-links",
        severity="error",
        group="broken",
        sentence="Links to other sites that do not work.",
        advice="Find the new address, link to an archived copy, or remove the link. A server may also have refused "
        "only this program, or failed only for now: follow the link in a browser before you change it.",
        sql=link_problem(f"v.outcome IN {FAILED} AND NOT {INTERNAL} AND NOT {IS_LOADED}"),
    ),
    ProblemKind(
        name="broken-resources",
        severity="error",
        group="broken",
        sentence="Images, styles, scripts and other files that pages load, but that do not work.",
        advice="Correct the address on the page, or upload the missing file.",
        sql=link_problem(f"v.outcome IN {FAILED} AND {IS_LOADED}"),
    ),
    ProblemKind(
        name="redirect-loops",
        severity="error",
        group="broken",
        sentence="Addresses that redirect in a circle, or for ever.",
        advice="Correct the redirect rules of the server: no browser can show these pages.",
        sql=f"""
            SELECT c.url, l.source AS page, l.text,
                   array_to_string(c.path[:coalesce(nullif(list_position(c.path, c.url), 0), 5)], ' → ') AS detail,
                   count(*) OVER (PARTITION BY c.url) AS number
            FROM chains AS c JOIN all_links AS l ON l.target = c.url AND {SEEN}
            WHERE c.is_loop AND host_of(c.url) IN (SELECT host FROM site_hosts)""",
    ),
    ProblemKind(
        name="invalid-links",
        severity="error",
        group="broken",
        sentence="Links whose address is not a valid URL, or a file of one machine.",
        advice="Correct the address in the link.",
        sql=f"""
            SELECT l.href AS url, l.source AS page, l.text, 1 AS number,
                   CASE WHEN l.href ILIKE 'file:%' THEN 'a file of one machine' ELSE 'not a URL' END AS detail
            FROM all_links AS l WHERE l.target IS NULL AND {SEEN}""",
    ),
    ProblemKind(
        name="missing-fragments",
        severity="error",
        group="fragments",
        sentence="Links to a place within a page (after a #) that the page does not have.",
        advice="Correct the fragment in the link, or give the place on the page this id.",
        sql=f"""
            SELECT l.target || '#' || l.fragment AS url, l.source AS page, l.text,
                   'no element has this id' AS detail, count(*) OVER (PARTITION BY l.target, l.fragment) AS number
            FROM all_links AS l
            LEFT JOIN chains AS c ON c.url = l.target
            JOIN pages AS p ON p.url = coalesce(c.final, l.target)
            ANTI JOIN named AS n ON n.place = hash(coalesce(c.final, l.target) || '#' || l.fragment)
            WHERE l.fragment <> '' AND l.kind IN {CLICKED!r}""",
    ),
    ProblemKind(
        name="mixed-content",
        severity="error",
        sentence="Pages of https that load files over http; browsers block or warn about these.",
        advice="Load the file over https.",
        sql=f"""
            SELECT l.source AS url, NULL AS page, l.href AS text, l.kind AS detail, 1 AS number
            FROM all_links AS l
            WHERE starts_with(l.source, 'https:') AND starts_with(l.target, 'http:')
              AND (l.kind IN {LOADED!r} OR l.kind = 'form')""",
    ),
    ProblemKind(
        name="canonical-conflicts",
        severity="error",
        sentence="Pages that declare a canonical address that cannot be one.",
        advice="Let each page name one canonical address that works, may be indexed, and is its own canonical address.",
        sql="""
            SELECT p.url, NULL AS page, p.canonical AS text,
                   CASE WHEN len(p.canonicals) > 1 THEN 'several canonical addresses'
                        WHEN v.outcome IN ('broken', 'loop') THEN 'does not work: ' || v.why
                        WHEN v.outcome IN ('robots', 'refused') THEN 'cannot be read: ' || v.why
                        WHEN v.hops > 0 THEN 'redirects to ' || v.final
                        WHEN o.noindex THEN 'has noindex'
                        WHEN o.canonical <> o.url THEN 'names another canonical address: ' || o.canonical
                        WHEN p.noindex AND p.canonical <> p.url THEN 'this page has noindex' END AS detail,
                   len(p.canonicals) AS number
            FROM pages AS p
            LEFT JOIN verdicts AS v ON v.url = p.canonical
            LEFT JOIN pages AS o ON o.url = p.canonical AND o.url <> p.url
            WHERE p.canonical IS NOT NULL AND detail IS NOT NULL""",
    ),
    ProblemKind(
        name="hreflang-errors",
        severity="error",
        sentence="Pages whose links to versions in other languages (hreflang) are wrong.",
        advice="Let every version of a page link to all versions, with codes such as en, en-GB or x-default, and to "
        "addresses that work and may be indexed.",
        sql=f"""
            SELECT l.source AS url, NULL AS page, l.text || ' → ' || coalesce(l.target, l.href) AS text,
                   CASE WHEN NOT regexp_matches(lower(l.text), '{LANGUAGE}')
                          OR lower(l.text) IN ('uk-uk', 'en-uk', 'jp', 'cz', 'dk') THEN 'not a language code'
                        WHEN v.outcome IN ('broken', 'loop') THEN 'does not work: ' || v.why
                        WHEN v.hops > 0 THEN 'redirects to ' || v.final
                        WHEN o.noindex THEN 'has noindex'
                        WHEN o.canonical <> o.url THEN 'is not canonical'
                        WHEN l.versions > 1 THEN 'several addresses for this language'
                        WHEN o.url IS NOT NULL AND o.url <> l.source AND b.target IS NULL
                            THEN 'does not link back' END AS detail,
                   1 AS number
            FROM (SELECT *, count(DISTINCT target) OVER (PARTITION BY source, lower(text)) AS versions
                  FROM all_links WHERE kind = 'hreflang') AS l
            LEFT JOIN verdicts AS v ON v.url = l.target
            LEFT JOIN pages AS o ON o.url = l.target
            LEFT JOIN (SELECT DISTINCT source, target FROM all_links WHERE kind = 'hreflang') AS b
              ON b.source = l.target AND b.target = l.source
            WHERE detail IS NOT NULL""",
    ),
    ProblemKind(
        name="sitemap-errors",
        severity="error",
        sentence="Addresses in the sitemap that search engines cannot index.",
        advice="List only addresses of pages that work, may be indexed and are canonical.",
        sql="""
            SELECT s.url, NULL AS page, NULL AS text,
                   CASE WHEN v.hops > 0 THEN 'redirects to ' || v.final
                        WHEN v.outcome IN ('broken', 'refused', 'loop') THEN v.why
                        WHEN v.outcome = 'robots' THEN 'robots.txt forbids it'
                        WHEN p.noindex THEN 'has noindex'
                        WHEN p.canonical <> p.url THEN 'not canonical: ' || p.canonical END AS detail,
                   1 AS number
            FROM sitemap AS s JOIN verdicts AS v ON v.url = s.url LEFT JOIN pages AS p ON p.url = s.url
            WHERE detail IS NOT NULL""",
    ),
    ProblemKind(
        name="missing-titles",
        severity="error",
        sentence="Pages without a title.",
        advice="Give each page a title that says what it is about: search results and tabs show it.",
        sql=missing("title"),
    ),
)

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from scoter.config import load
from scoter.nutch.settings.files import FILES, NutchRuleFile

INTRANET = "+^https?://intranet\\.example\\.org/\n-.\n"
NORMALIZE = "<regex-normalize><regex><pattern>;sid=\\w+</pattern><substitution/></regex></regex-normalize>"
DOCS = "<subcollection><name>docs</name><whitelist>/docs/</whitelist></subcollection>"
BAYES = "1\tseals rest on ice\n0\tbuy cheap watches\n"
CONTENT = {
    "regex": INTRANET,
    "automaton": "+http://intranet.example.org/@\n",
    "prefix": "http://intranet.example.org/\n",
    "suffix": "+\n.zip\n",
    "domain": "example.org\n",
    "domaindenylist": "example.com\n",
    "fast": "Host www.example.org\n  DenyPath ^/private/\n",
    "urlexemption-ignoreexempt": "+\\.png$\n",
    "urlnormalizer-regex": NORMALIZE,
    "urlnormalizer-host": "example.org www.example.org\n",
    "urlnormalizer-slash": "www.example.org +\n",
    "urlnormalizer-protocol": "*.example.org\thttps\n",
    "indexingfilter-subcollection": f"<subcollections>{DOCS}</subcollections>",
    "indexingfilter-mimetype": "+\ntext/html\n",
    "indexingfilter-more": "office\tapplication/pdf\n",
    "parsefilter-regex": 'price html itemprop="price"\n',
    "parsefilter-naivebayes": BAYES,
    "scoring-similarity": "seals and walruses rest on the ice\n",
    "agents": "examplebot/1.0\n",
    "cookies": "www.example.org\tconsent=yes\n",
    "schedule-mime-adaptive": "text/html\t0.4\t0.2\n",
    "schedule-adaptive": "www.example.org 60 3600\n",
}


def site(**properties: str) -> str:
    items = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>" for name, value in properties.items()
    )
    return f"<configuration>{items}</configuration>"


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    """Nutch's conf folder, as it is without a nutch-site.xml that says otherwise."""
    folder = tmp_path / "conf"
    folder.mkdir()
    (folder / "nutch-site.xml").write_text(site(**{"http.agent.name": "gullbot"}))
    (folder / "regex-urlfilter.txt").write_text(INTRANET)
    (folder / "regex-normalize.xml").write_text(NORMALIZE)
    return folder


def test_imported_crawl_of_an_intranet_stays_in_it(run: Run, conf: Path, tmp_path: Path) -> None:
    done = run("config", "import-nutch", "conf/nutch-site.xml", "-o", "scoter.toml")

    assert done.code == 0
    assert (tmp_path / "scoter-rules" / "regex-urlfilter.txt").read_text() == INTRANET
    checked = run("filterchecker", "http://intranet.example.org/", "http://www.example.com/").out
    assert "+ http://intranet.example.org/" in checked
    assert "- http://www.example.com/" in checked
    assert run("normalizerchecker", "http://example.org/a;sid=x1").out.startswith("→ http://example.org/a\n")


def content_of(file: NutchRuleFile) -> str:
    key = file.reader.removeprefix("urlfilter-") if file.reader.startswith("urlfilter-") else file.reader
    if file.setting.endswith("host_file"):
        key = "schedule-adaptive" if file.reader.startswith("schedule") else key
    return "seals\n" if file.setting.endswith(("word_file", "stopword_file")) else CONTENT[key]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.setting)
def test_file_of_an_active_plugin_is_carried_over(run: Run, conf: Path, tmp_path: Path, file: NutchRuleFile) -> None:
    name = file.name or "scoped.xml"
    given = {"plugin.includes": file.plugins[0] if file.plugins else "protocol-http"}
    given |= {file.by: name} if file.by else {}
    given |= {file.when: file.values[-1]} if file.when else {}
    (conf / "nutch-site.xml").write_text(site(**given))
    for other in FILES:  # plug-ins with several files need all of them
        if other.reader == file.reader and other.name:
            (conf / other.name).write_text(content_of(other))
    (conf / name).write_text(content_of(file))

    done = run("config", "import-nutch", "conf", "-o", "mine.toml")

    assert done.code == 0, done.err
    assert (tmp_path / "mine-rules" / name).read_text() == content_of(file)
    shown = run("-c", "mine.toml", "config", "show").out
    assert f'"{tmp_path}/mine-rules/{name}"' in shown or f'"mine-rules/{name}"' in shown
    load(tmp_path / "mine.toml")


def test_missing_files_are_listed_and_nothing_is_written(run: Run, conf: Path, tmp_path: Path) -> None:
    (conf / "nutch-site.xml").write_text(
        site(**{"plugin.includes": "urlfilter-(regex|domain|fast)|urlnormalizer-host"})
    )
    before = sorted(tmp_path.iterdir())

    done = run("config", "import-nutch", "conf", "-o", "scoter.toml")

    assert done.code == 2
    assert done.err.splitlines()[:4] == [
        "scoter: conf/nutch-site.xml: active plug-ins read files that are missing:",
        "  domain-urlfilter.txt (urlfilter-domain)",
        "  fast-urlfilter.txt (urlfilter-fast)",
        "  hosts.txt (urlnormalizer-host)",
    ]
    assert sorted(tmp_path.iterdir()) == before


def test_rules_that_cannot_be_read_are_refused_with_their_line(run: Run, conf: Path, tmp_path: Path) -> None:
    (conf / "regex-urlfilter.txt").write_text("+.\n-[a-z&&[^b]]\n")

    done = run("config", "import-nutch", "conf", "-o", "scoter.toml")

    assert done.code == 2
    assert done.err.startswith("scoter: conf/regex-urlfilter.txt:2: ")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["conf"]


def test_rules_in_a_property_are_written_to_a_file(run: Run, conf: Path, tmp_path: Path) -> None:
    given = {"plugin.includes": "urlfilter-regex", "urlfilter.regex.rules": "+example\n", "urlfilter.regex.file": "x"}
    (conf / "nutch-site.xml").write_text(site(**given))

    done = run("config", "import-nutch", "conf", "-o", "scoter.toml")

    assert done.code == 0
    assert (tmp_path / "scoter-rules" / "regex-urlfilter.txt").read_text() == "+example"


def test_json_also_writes_the_output_file(run: Run, conf: Path, tmp_path: Path) -> None:
    done = run("config", "import-nutch", "conf", "-o", "scoter.toml", "--json")

    rows = [json.loads(line) for line in done.out.splitlines()]
    assert "agent.name" in [row.get("setting") for row in rows]
    assert 'name = "gullbot"' in (tmp_path / "scoter.toml").read_text()
    assert (tmp_path / "scoter-rules" / "regex-urlfilter.txt").exists()
    assert run("config", "import-nutch", "conf", "--json").out == done.out


def test_included_files_are_followed(run: Run, conf: Path, tmp_path: Path) -> None:
    include = '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="{}"/>'
    site_file = conf / "nutch-site.xml"
    site_file.write_text(f"<configuration>{include.format('more/filters.xml')}</configuration>")
    (conf / "more").mkdir()
    (conf / "more" / "filters.xml").write_text(
        f"<configuration>{include.format('agent.xml')}"
        '<property name="plugin.includes" value="urlfilter-prefix"/></configuration>'
    )
    (conf / "more" / "agent.xml").write_text(site(**{"http.agent.name": "ternbot"}))
    (conf / "prefix-urlfilter.txt").write_text(CONTENT["prefix"])

    done = run("config", "import-nutch", "conf", "-o", "scoter.toml")

    assert done.code == 0
    config = load(tmp_path / "scoter.toml")
    assert (config.agent.name, config.urlfilter.filters) == ("ternbot", ("prefix",))

    (conf / "more" / "agent.xml").unlink()
    missing = run("config", "import-nutch", "conf", "-o", "other.toml")
    assert missing.code == 2
    assert missing.err.startswith("scoter: conf/more/filters.xml:1: includes agent.xml, which cannot be read\n")
    (conf / "more" / "agent.xml").write_text(f"<configuration>{include.format('agent.xml')}</configuration>")
    assert "includes too many files, or itself" in run("config", "import-nutch", "conf", "-o", "other.toml").err


def test_fallback_of_a_missing_include_is_read(run: Run, conf: Path) -> None:
    fallback = "<fallback><property><name>http.agent.name</name><value>aukbot</value></property></fallback>"
    (conf / "nutch-site.xml").write_text(
        f'<configuration><include href="none.xml">{fallback}</include>'
        "<property><name>plugin.includes</name><value>urlfilter-validator</value></property></configuration>"
    )

    assert 'name = "aukbot"' in run("config", "import-nutch", "conf").out


def test_credentials_and_hosts_for_the_browser_are_converted(run: Run, conf: Path, tmp_path: Path) -> None:
    (conf / "nutch-site.xml").write_text(site(**{"plugin.includes": "protocol-(httpclient|selenium)"}))
    (conf / "httpclient-auth.xml").write_text(
        '<auth-configuration><credentials username="reader" password="s3cret"><default/>'
        '<authscope host="docs.example.org" port="80" scheme="NTLM"/></credentials></auth-configuration>'
    )
    (conf / "host-protocol-mapping.txt").write_text(
        "# a comment\napp.example.org\tprotocol-selenium\nwww.example.org\tprotocol-httpclient\n"
        "x.example\tprotocol-foo\n"
    )

    done = run("config", "import-nutch", "conf", "-o", "scoter.toml")

    assert done.code == 0, done.err
    assert (tmp_path / "scoter-rules" / "httpclient-auth.txt").read_text() == "docs.example.org ntlm reader s3cret\n"
    config = load(tmp_path / "scoter.toml")
    assert config.http.auth_file == tmp_path / "scoter-rules" / "httpclient-auth.txt"
    assert config.browser.url_patterns == ("^https?://app\\.example\\.org[:/]",)
    assert "default of reader: there is no default: name the hosts" in done.err
    assert "x.example\tprotocol-foo: unknown plug-in" in done.err.replace("\\t", "\t")
    assert "s3cret" not in done.err


def test_files_without_counterpart_are_named(run: Run, conf: Path) -> None:
    (conf / "parse-plugins.xml").write_text("<parse-plugins/>")
    (conf / "cookies.txt").write_text("# host, tab, cookie\n")

    done = run("config", "import-nutch", "conf", "-o", "scoter.toml")

    assert "parse.plugin.file = parse-plugins.xml: each parser declares its types" in done.err
    assert "cookie" not in done.err


def test_rule_folder_is_replaced_only_if_forced(run: Run, conf: Path, tmp_path: Path) -> None:
    assert run("config", "import-nutch", "conf", "-o", "scoter.toml").code == 0
    (tmp_path / "scoter.toml").unlink()
    (conf / "regex-urlfilter.txt").write_text("-.\n")

    assert run("config", "import-nutch", "conf", "-o", "scoter.toml").code == 2
    assert run("config", "import-nutch", "conf", "-o", "scoter.toml", "--force").code == 0
    assert (tmp_path / "scoter-rules" / "regex-urlfilter.txt").read_text() == "-.\n"

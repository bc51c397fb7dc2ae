"""Every usage line of Nutch's commands is answered with commands that run."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import Outcome, Run, run_in_process
from tests.long.batch_truth import settings

from scoter.cli.invocation import Invocation
from scoter.cli.main import scoter
from scoter.nutch.commands.usage import USAGES
from scoter.simweb import SimServer, WebSpec, running

NAMES = Path(__file__).parents[1] / "data" / "nutch-commands.txt"
# Segments: {P} is parsed, {T} fetched, {S} to be fetched. {U} and {H}: a page with inlinks, and its host.
LINES = """\
inject new/crawldb seeds
inject new/crawldb seeds -overwrite -noFilter -noNormalize
inject my/crawldb seeds -update -filterNormalizeAll
generate my/crawldb my/segments
generate my/crawldb my/segments -force -topN 10 -numFetchers 2 -adddays 40 -noFilter -noNorm -maxNumSegments 2
generate my/crawldb my/segments -topN 10 -expr 'score>=0' -hostdb my/hostdb
generate -D mapreduce.job.reduces=2 -D mapred.child.java.opts=-Xmx1000m my/crawldb my/segments -topN 50000 -noFilter
freegen seeds my/segments
freegen seeds my/segments -filter -normalize
fetch my/segments/{S}
fetch my/segments/{S} -threads 5
fetch -D fetcher.timelimit.mins=180 my/segments/{S} -noParsing -threads 50
parse my/segments/{T}
parse my/segments/{T} -noFilter -noNormalize
readdb my/crawldb -stats
readdb my/crawldb -stats -sort
readdb my/crawldb -dump out
readdb my/crawldb -dump out -format csv -status db_fetched -regex '.*' -retry 0 -expr 'score>=0' -sample 1.0
readdb my/crawldb -dump out -format normal
readdb my/crawldb -dump out -format json
readdb my/crawldb/ -url {U}
readdb my/crawldb -topN 5 out
readdb my/crawldb -topN 5 out 0.1
mergedb new/crawldb my/crawldb
mergedb new/crawldb my/crawldb other/crawldb -normalize -filter
mergedb new my/crawldb other/crawldb -filter
readlinkdb my/linkdb -dump out
readlinkdb my/linkdb -dump out -regex '.*'
readlinkdb my/linkdb -url {U}
readseg -list -dir my/segments
readseg -list my/segments/{P}
readseg -list my/segments/{S} my/segments/{T}
readseg -dump my/segments/{P} out
readseg -dump my/segments/{P} out -nocontent -nofetch -nogenerate -noparse -noparsedata -recode
readseg -get my/segments/{P} {U}
readseg -get my/segments/{P} {U} -noparsetext
mergesegs new -dir other/segments
mergesegs new/segments my/segments/{P} -filter -normalize -slice 5
updatedb my/crawldb my/segments/{T}
updatedb my/crawldb -dir my/segments -force -normalize -filter -noAdditions
invertlinks my/linkdb my/segments/{P}
invertlinks my/linkdb -dir my/segments -force -noNormalize -noFilter
mergelinkdb new/linkdb my/linkdb
mergelinkdb new/linkdb my/linkdb other/linkdb -normalize -filter
index my/crawldb -linkdb my/linkdb my/segments/{P}
index my/crawldb -linkdb my/linkdb -dir my/segments -noCommit -deleteGone -filter -normalize -addBinaryContent -base64
index my/crawldb -dir my/segments -params a=b&c=d
index -nocrawldb my/segments/{P}
dedup my/crawldb
dedup my/crawldb -group host -compareOrder score,fetchTime,urlLength
clean my/crawldb
clean my/crawldb -noCommit
dump -outputDir out -segment my/segments
dump -flatdir -outputDir out -segment my/segments/{P} -mimetype text/html -mimeStats -reverseUrlDirs
commoncrawldump -outputDir out -segment my/segments -mimetype text/html -gzip -reverseKey -extension html -jsonArray
warc out -dir my/segments
warc out my/segments/{P}
parsechecker page.html
parsechecker -dumpText -forceAs text/html page.html
parsechecker -normalize -checkRobotsTxt -followRedirects -dumpText {U}
parsechecker -stdin
indexchecker page.html
indexchecker -normalize -followRedirects -md a=b -md c=d {U}
filterchecker -stdin
filterchecker -filterName org.apache.nutch.urlfilter.validator.UrlValidator -stdin
filterchecker -allCombined
normalizerchecker -stdin
normalizerchecker -normalizer org.apache.nutch.net.urlnormalizer.basic.BasicURLNormalizer -scope outlink -stdin
domainstats my/crawldb out host
domainstats my/crawldb/current out tld 2
domainstats my/crawldb,other/crawldb out domain
protocolstats my/crawldb out
protocolstats my/crawldb out 2
crawlcomplete -inputDirs my/crawldb,other/crawldb -mode host -outputDir out
crawlcomplete -inputDirs my/crawldb -mode domain -numReducers 2 -outputDir out
webgraph -segmentDir my/segments -webgraphdb my/webgraphdb
webgraph -filter -normalize -segment my/segments/{P} -webgraphdb wg
linkrank -webgraphdb my/webgraphdb
linkrank -webgraphdb my
scoreupdater -crawldb my/crawldb -webgraphdb my/webgraphdb
nodedumper -inlinks -topn 5 -output out -webgraphdb my/webgraphdb
nodedumper -outlinks -output out -webgraphdb my
nodedumper -scores -topn 5 -output out -webgraphdb my/webgraphdb -asEff -asSequenceFile
nodedumper -scores -group domain sum -output out -webgraphdb my/webgraphdb
plugin urlfilter-validator org.apache.nutch.urlfilter.validator.UrlValidator
plugin parse-html org.apache.nutch.parse.html.HtmlParser page.html
plugin scoring-opic org.apache.nutch.scoring.opic.OPICScoringFilter
updatehostdb -hostdb my/hostdb -crawldb my/crawldb
updatehostdb -hostdb my/hostdb -crawldb my/crawldb -checkNew -force -filter -normalize
readhostdb my/hostdb out
readhostdb my/hostdb out -dumpHomepages
readhostdb my/hostdb out -dumpHostnames
readhostdb my/hostdb out -expr 'fetched>=0'
readhostdb my/hostdb -get {H}
sitemap my/crawldb -sitemapUrls seeds -threads 4 -noStrict -noFilter -noNormalize
sitemap my/crawldb -hostdb my/hostdb -threads 4 -force
solrindex http://127.0.0.1:9/solr my/crawldb -linkdb my/linkdb -dir my/segments -noCommit -deleteGone
solrclean my/crawldb http://127.0.0.1:9/solr
solrdedup http://127.0.0.1:9/solr
startserver -port 8089 -host 127.0.0.1
webapp
showproperties x
robotsparser robots.txt seeds/list.txt examplebot,otherbot
org.apache.nutch.crawl.Injector new/crawldb seeds
org.apache.nutch.crawl.CrawlDbReader my/crawldb -stats
crawl seeds new 1
crawl seeds new http://127.0.0.1:9/solr/ 1
crawl -i -D fetcher.timelimit.mins=10 -w 10s -s seeds new 1
crawl --index --num-threads 5 --size-fetchlist 100 --time-limit-fetch 5 --hostdbupdate --hostdbgenerate -s seeds new 1
crawl -s seeds -sm seeds --sitemaps-from-hostdb never new 1
crawl my -1
crawl seeds -dir new -threads 5 -depth 1 -topN 10
""".splitlines()
NO_COMMAND = {"dedupredirects", "junit"}
AS_THEY_ARE = {"parsechecker page.html", "indexchecker page.html"}
MAY_FIND_NOTHING = {"clean", "sitemap", "readlinkdb"}  # the linkdb has no links within a site


@pytest.fixture(scope="module")
def web() -> Iterator[SimServer]:
    with running(WebSpec(hosts=1, pages=6, page_bytes=1_000, trap_size=0)) as server:
        yield server


@pytest.fixture(scope="module")
def place(web: SimServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two crawls, seeds and files; one crawl has segments in every state."""
    folder = tmp_path_factory.mktemp("nutch")
    seed = next(iter(web.web.seeds()))
    _write_files(folder, seed)

    def run(*words: str) -> str:
        done = run_in_process(folder, *words, *_options(web))
        assert done.code == 0, done.err
        return done.out.strip()

    for crawl in ("my", "other"):
        run("crawl", crawl, seed, "--rounds", "1")
    run("updatehostdb", "my", "--no-check")
    run("webgraph", "my")
    run("linkrank", "my")
    parsed = run("generate", "my", "--top-n", "1")
    run("fetch", "my", parsed, "--parse")
    run("updatedb", "my")
    fetched = run("generate", "my", "--top-n", "1")
    run("fetch", "my", fetched, "--no-parse")
    waiting = run("generate", "my", "--top-n", "1")
    page = run("sql", "my", f"select url from crawldb where status = 'fetched' and url <> '{seed}'", "--csv").split()[1]
    (folder / "names").write_text(f"{parsed} {fetched} {waiting} {page}")
    return folder


def _write_files(folder: Path, seed: str) -> None:
    (folder / "seeds").mkdir()
    (folder / "seeds" / "list.txt").write_text(f"{seed}\n")
    (folder / "robots.txt").write_text("User-agent: *\nDisallow: /private\n")
    (folder / "page.html").write_text("<title>A page</title><p>Words")


def _options(web: SimServer) -> list[str]:
    return [word for each in settings(web.port, "fetch.processes=1", "index.writers=dummy") for word in ("-D", each)]


def _filled(names: str, line: str) -> list[str]:
    parsed, fetched, waiting, url = names.split()
    return shlex.split(line.format(P=parsed, S=waiting, T=fetched, U=url, H=url.split("/")[2]))


def _answers(asked: Outcome) -> list[str]:
    """Return the commands that an answer names."""
    assert (asked.code, asked.out) == (2, "")
    found = re.findall(r"^Run: scoter (.*)$|; use scoter ([^(\n]*)", asked.err, re.MULTILINE)
    return [run or use for run, use in found]


@pytest.mark.parametrize("line", LINES, ids=str)
def test_usage_line_of_nutch_is_answered_with_commands_that_exist(line: str, run: Run, tmp_path: Path) -> None:
    _write_files(tmp_path, "http://a.test/")
    before = sorted(path.name for path in tmp_path.iterdir())
    asked = run(*_filled("20261115033000 20261115033001 20261115033002 http://a.test/x", line))

    assert sorted(path.name for path in tmp_path.iterdir()) == before  # nothing was created by mistake
    if line in AS_THEY_ARE:
        assert asked.code == 0
        return
    for text in _answers(asked):
        arguments = shlex.split(text.partition(" < ")[0])
        with scoter.make_context("scoter", arguments, obj=Invocation()) as context:
            _, command, rest = scoter.resolve_command(context, arguments)
            assert command is not None
            command.make_context(arguments[0], rest, parent=context).close()  # fails unless it accepts all of them
    assert _answers(asked)


@pytest.mark.slow
@pytest.mark.parametrize("line", [each for each in LINES if each not in AS_THEY_ARE], ids=str)
def test_usage_line_of_nutch_is_answered_with_commands_that_run(
    line: str, run: Run, place: Path, web: SimServer, tmp_path: Path
) -> None:
    shutil.copytree(place, tmp_path, dirs_exist_ok=True)

    for text in _answers(run(*_filled((place / "names").read_text(), line))):
        words, _, file = text.partition(" < ")
        arguments = shlex.split(words.replace(" DIR", " my"))
        if arguments[0] == "ui" or "index.writers=solr" in arguments:
            continue  # a server that would not end, and commands that need one
        stdin = (tmp_path / file).read_text() if file else ""
        done = run(*arguments, *_options(web), stdin=stdin)
        assert done.code == 0 or (done.code == 1 and arguments[0] in MAY_FIND_NOTHING), f"{text}: {done.err}"


def test_every_command_of_nutch_has_a_usage_line() -> None:
    tested = {line.split()[0] for line in LINES}

    assert set(NAMES.read_text().split()) - tested == NO_COMMAND
    assert tested >= USAGES.keys()


def test_seeds_go_to_the_crawl_and_not_into_a_crawl_inside_its_crawldb(run: Run, tmp_path: Path) -> None:
    done = run("inject", "nc/crawldb", "http://a.example/")

    assert done.err == "scoter: this is spelled as in Nutch\nRun: scoter inject nc http://a.example/\n"
    assert not (tmp_path / "nc").exists()


def test_answer_names_options_without_a_counterpart(run: Run) -> None:
    done = run("index", "my/crawldb", "-dir", "my/segments", "-params", "a=b", "-deleteGone")

    assert done.err.endswith("Run: scoter index my\nWithout a counterpart: -params\n")


def test_properties_of_nutch_become_settings(run: Run) -> None:
    properties = ("-D", "fetcher.timelimit.mins=180", "-Dmapreduce.job.reduces=2")
    done = run("fetch", *properties, "my/segments/1", "-threads", "5")

    assert done.err.endswith("""Run: scoter fetch my 1 --threads 5 -D 'fetch.time_limit="3h"'\n""")

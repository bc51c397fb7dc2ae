"""Choose the schema.org thing that a page is about.

A page describes many things: itself, its site, breadcrumbs, pages it links to. It is about what it calls its main
entity, or else the thing of the most specific type, unless that has a URL elsewhere.
"""

from __future__ import annotations

from typing import Final

from scoter.parse.metadata.field_values import word
from scoter.parse.metadata.graph import Graph, Thing, address_of, types_of
from scoter.parse.metadata.page_elements import PageElements


def _ranks(rank: int, *lines: str) -> dict[str, int]:
    return {name.lower(): rank for line in lines for name in line.split()}


_PAGE: Final = 20
_ARTICLE: Final = 60
_REVIEW: Final = 45
_MAIN: Final = 100  # added to the rank of a main entity
_RANK: Final = {
    **_ranks(70, "Recipe"),  # above Article: recipe pages are often marked as both
    **_ranks(
        _ARTICLE,
        "Article NewsArticle BlogPosting TechArticle ScholarlyArticle Report SocialMediaPosting LiveBlogPosting",
        "DiscussionForumPosting AnalysisNewsArticle OpinionNewsArticle ReportageNewsArticle ReviewNewsArticle",
        "BackgroundNewsArticle AskPublicNewsArticle AdvertiserContentArticle SatiricalArticle MedicalScholarlyArticle",
    ),
    **_ranks(58, "Product ProductGroup ProductModel IndividualProduct SomeProducts Vehicle Car Motorcycle"),
    **_ranks(
        56,
        "Event MusicEvent SportsEvent TheaterEvent BusinessEvent EducationEvent ExhibitionEvent Festival JobPosting",
        "Book Audiobook Movie TVSeries TVEpisode TVSeason Episode MusicAlbum MusicRecording MusicGroup PodcastEpisode",
        "PodcastSeries Course CourseInstance Dataset HowTo VideoGame Game Quiz ResearchProject",
        "SoftwareApplication MobileApplication WebApplication SoftwareSourceCode",
    ),
    **_ranks(50, "VideoObject AudioObject RealEstateListing Accommodation Apartment House Service FinancialProduct"),
    **_ranks(
        _REVIEW,
        "Question Review CriticReview ClaimReview UserReview CreativeWork CreativeWorkSeries Photograph VisualArtwork",
    ),
    **_ranks(
        _PAGE,
        "WebPage ItemPage AboutPage CollectionPage ContactPage ProfilePage FAQPage QAPage CheckoutPage MedicalWebPage",
        "SearchResultsPage Blog WebContent",
    ),
    **_ranks(15, "LocalBusiness Restaurant Hotel Store Place TouristAttraction Museum"),
    **_ranks(8, "Person"),
}
_UNKNOWN: Final = 5  # a type that is not listed, but has a headline


def is_page(thing: Thing) -> bool:
    """Tell whether a thing is a page, as opposed to what a page is about."""
    return _rank(thing)[0] == _PAGE


def is_customer_review(kind: str, other: str) -> bool:
    """Tell whether a type is a review of ``other``, the page's subject; an article may be a review itself."""
    rank = _RANK.get(other.lower(), 0)
    return kind.endswith("Review") and rank > _REVIEW and rank != _ARTICLE


def _rank(thing: Thing) -> tuple[int, str]:
    """Return the rank of a thing and the type that gives it."""
    best, kind = 0, ""
    for name in types_of(thing):
        rank = _RANK.get(name.lower(), 0)
        if not rank and "headline" in thing:
            rank = _UNKNOWN
        if rank > best:
            best, kind = rank, word(name)
    return best, kind


def main_entity(graph: Graph, elements: PageElements, *, first_of_many: bool) -> tuple[Thing, str]:
    """Return the thing that the page is about and its type; both empty if unknown."""
    ranked: list[tuple[int, str, Thing]] = []
    for thing in graph.things:
        rank, kind = _rank(thing)
        if rank:
            ranked.append((rank, kind, thing))
        if rank == _PAGE and (main := _main(graph, thing, kind)) is not None:
            ranked.append(main)
    elsewhere: list[tuple[int, str, Thing]] = []
    for rank in sorted({rank for rank, _, _ in ranked}, reverse=True):
        if rank < _PAGE and any(found[0] == _PAGE for found in elsewhere):
            break  # the page has another URL in its markup, and is not about its author
        same = [found for found in ranked if found[0] == rank]
        places = [_place(graph, elements, thing) for _, _, thing in same]
        unsaid = places.count("")
        if "here" in places or unsaid == 1 or (unsaid and first_of_many):
            _, kind, thing = same[places.index("here" if "here" in places else "")]
            return thing, kind
        elsewhere.extend(same)
    # A single thing with a URL elsewhere is the page itself under another URL.
    best = [found for found in elsewhere if found[0] == elsewhere[0][0]]
    return (best[0][2], best[0][1]) if len(best) == 1 else ({}, "")


def _main(graph: Graph, page: Thing, kind: str) -> tuple[int, str, Thing] | None:
    things = graph.things_of(page, "mainEntity", "about")
    if len(things) != 1 or kind == "FAQPage":
        return None
    rank, name = _rank(things[0])
    return (_MAIN + rank, name, things[0]) if rank and ("mainEntity" in page or rank > _PAGE) else None


def _place(graph: Graph, elements: PageElements, thing: Thing) -> str:
    """Return ``here`` or ``elsewhere`` by the URLs of a thing; empty if it has none."""
    said = [
        href
        for name in ("url", "mainEntityOfPage")
        for value in graph.each(thing, name)
        # Not "true", nor a blank node.
        if (href := address_of(value)) and ("/" in href or "." in href or href[0] == "#") and href[:2] != "_:"
    ]
    name = thing.get("@id")  # often not a URL, so it can only prove that a thing is here
    if any(elements.is_here(href) for href in said[:10]) or (isinstance(name, str) and name and elements.is_here(name)):
        return "here"
    return "elsewhere" if said else ""

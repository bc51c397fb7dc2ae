"""What a page says about itself, field by field, each with the source it came from."""

from __future__ import annotations

from collections.abc import Iterator

from scoter.batch.crawldir.export import moment
from scoter.cli.checking.lines import Line, fact, title
from scoter.core.metadata import Image, Media, PageMetadata, Product


def metadata(about: PageMetadata | None) -> Iterator[Line]:
    """Yield the fields that are there."""
    if about is None:
        return
    told = [(name, value) for name, values in _fields(about) for value in values if value]
    if not told:
        return
    yield from title("Metadata (and where it was found)")
    before = ""
    for name, value in told:
        source = about.sources.get(name, "")
        yield from fact("" if name == before else name.replace("_", " "), value, source)
        before = name


def _fields(about: PageMetadata) -> Iterator[tuple[str, list[str]]]:
    yield "title", [about.title]
    yield "type", [about.type]
    yield "site_name", [about.site_name]
    yield "description", [about.description]
    yield "authors", [f"{each.name} <{each.url}>" if each.url else each.name for each in about.authors]
    yield "published", [moment(about.published)] if about.published else []
    yield "modified", [moment(about.modified)] if about.modified else []
    yield "language", [about.language]
    yield "keywords", [", ".join(about.keywords)]
    yield "canonical", [about.canonical]
    yield "image", [_image(about.image)] if about.image else []
    yield "icon", [_image(about.icon)] if about.icon else []
    yield "theme_color", [about.theme_color]
    yield "media", [_media(each) for each in about.media]
    yield "embeds", [f"{each.url}, {each.media_type}" for each in about.embeds]
    yield "feeds", [", ".join(filter(None, (each.url, each.media_type, each.title))) for each in about.feeds]
    yield "license", [about.license]
    yield "product", [_product(about.product)] if about.product else []


def _image(image: Image) -> str:
    return ", ".join(filter(None, (image.url, _measures(image.width, image.height), image.media_type, image.alt)))


def _media(media: Media) -> str:
    length = f"{media.seconds:g} s" if media.seconds is not None else ""
    measures = _measures(media.width, media.height)
    return f"{media.kind} " + ", ".join(filter(None, (media.url, measures, length, media.media_type)))


def _measures(wide: int | None, high: int | None) -> str:
    return "" if wide is None and high is None else f"{wide or '?'} × {high or '?'}"


def _product(product: Product) -> str:
    price = f"{product.price} {product.currency}".strip()
    rating = f"rated {product.rating:g}" if product.rating is not None else ""
    ratings = f"by {product.ratings:,}" if product.ratings is not None else ""
    sku = f"sku {product.sku}" if product.sku else ""
    rated = f"{rating} {ratings}".strip()
    return ", ".join(filter(None, (product.name, product.brand, price, product.availability, sku, rated)))

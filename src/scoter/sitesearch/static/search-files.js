// Searches the files that `scoter search-site` made, without a server. search-box.js loads this when it is needed.
//
// scoter/sitesearch/words.py says how text is cut into words, which must be the same here, and term_shards.py has the
// format of the files. Each search loads a few of them: the shards of its words, and the packs of the pages it shows.

const WORDS = /[\p{Alphabetic}\p{M}\p{N}]+(?:\+\+|#)?/gu;
const UNSPACED = /[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\u{20000}-\u{3ffff}]+/gu;
const LETTERS = { ß: "ss", æ: "ae", œ: "oe", ø: "o", ł: "l", đ: "d", ı: "i", þ: "th", ð: "d" };
const LONGEST = 40;
const MOST_WORDS = 8;
const MOST_FORMS = 30;
const MOST_FILES = 300;
const ENDING = /^(?:[aeimnorsdx]|e[dmnrs]|er[ns]|ings?|ly|[ao]s)$/; // of words whose other forms pages have
const BEGUN = 0.5; // what a word counts of which only the beginning was typed

function fold(text) {
  text = text.toLowerCase();
  if (/^[\0-\x7f]*$/.test(text)) return text;
  return text.normalize("NFKD").replace(/[\u0300-\u036f]+/g, "").normalize("NFKC").replace(/[ßæœøłđıþð]/g, (each) => LETTERS[each]);
}

/** Yields { word, at, to } for each word of a text. */
function* words(text) {
  for (const { 0: token, index } of text.matchAll(WORDS)) {
    const runs = [...token.matchAll(UNSPACED)];
    for (const run of runs) {
      const letters = [...run[0]];
      let at = index + run.index;
      for (let n = 0; n < Math.max(1, letters.length - 1); n++) {
        const pair = letters.slice(n, n + 2).join("");
        yield { word: fold(pair), at, to: at + pair.length };
        at += letters[n].length;
      }
    }
    if (!runs.length && [...token].length <= LONGEST) yield { word: fold(token), at: index, to: index + token.length };
  }
}

/** The number of letters that differ, are missing, added or swapped, if at most `most`. */
function distance(one, two, most) {
  if (Math.abs(one.length - two.length) > most) return most + 1;
  let before = [];
  let last = [...Array(two.length + 1).keys()];
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    for (let j = 1; j <= two.length; j++) {
      row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (one[i - 1] !== two[j - 1]));
      if (i > 1 && j > 1 && one[i - 1] === two[j - 2] && one[i - 2] === two[j - 1]) row[j] = Math.min(row[j], before[j - 2] + 1);
    }
    if (Math.min(...row) > most) return most + 1;
    [before, last] = [last, row];
  }
  return last[two.length];
}

class Refused extends Error {
  name = "Refused";
}

async function ask(url) {
  const got = await fetch(url, { credentials: "omit" });
  if (!got.ok) throw new Refused(`The search files are not all there (${got.status}).`);
  return got;
}

class Shard {
  constructor(bytes) {
    const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
    this.entries = new Map();
    let at = 4 + size;
    head.terms.split("\n").forEach((term, n) => {
      const data = bytes.subarray(at, (at += head.sizes[n]));
      this.entries.set(term, { term, data, stems: [...(data.length ? [term] : []), ...(head.stems[n] || [])] });
    });
  }
}

/** Returns { count, pages }: how many pages have a stem, and the weights of those that are listed. */
function postings(data) {
  let at = 0;
  const next = () => {
    let number = 0;
    for (let power = 1; ; power *= 128) {
      const byte = data[at++];
      number += (byte & 127) * power;
      if (byte < 128) return number;
    }
  };
  const pages = new Map();
  const count = data.length ? next() : 0;
  while (at < data.length) {
    const weight = 0.2 * 1.33 ** next();
    let page = 0;
    for (let left = next(); left; left--) pages.set((page += next()), weight);
  }
  return { count, pages };
}

export class Files {
  constructor(base) {
    this.base = base;
    this.kept = new Map();
  }

  /** The directory is asked for again if a file is missing: the site may have been published anew. */
  async search(query, most, signal) {
    try {
      return await this.find(query, most);
    } catch (error) {
      if (signal.aborted || !(error instanceof Refused) || !this.directory) throw error;
      this.directory = null;
      this.kept.clear();
      return this.find(query, most);
    }
  }

  file(name, read) {
    if (!this.kept.has(name)) {
      const loading = this.load(name).then(read);
      loading.catch(() => this.kept.delete(name));
      this.kept.set(name, loading);
      if (this.kept.size > MOST_FILES) this.kept.delete(this.kept.keys().next().value);
    }
    return this.kept.get(name);
  }

  async load(name) {
    const got = await ask(new URL(`${(await this.open()).folder}/${name}.bin`, this.base));
    const bytes = new Uint8Array(await got.arrayBuffer());
    if (bytes[0] !== 31 || bytes[1] !== 139) return bytes; // the server said how it is compressed
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(plain).arrayBuffer());
  }

  async open() {
    if (!this.directory) {
      if (location.protocol === "file:") throw new Refused("Browsers do not search files that are opened without a web server.");
      this.directory = await (await ask(new URL("search.json", this.base))).json();
    }
    return this.directory;
  }

  async shard(term) {
    const { shards } = await this.open();
    let low = 0;
    for (let high = shards.length; high - low > 1; ) {
      const middle = (low + high) >> 1;
      if (shards[middle] <= term) low = middle;
      else high = middle;
    }
    return this.file(`terms/${low}`, (bytes) => new Shard(bytes));
  }

  /** Returns the entries that a word stands for: itself, as the beginning of others, or a similar one. */
  async meant(word, isLast) {
    const { entries } = await this.shard(word);
    const found = entries.has(word) ? [entries.get(word)] : [];
    const size = (entry) => (entry.data.length ? entry.data.length : 3);
    if (isLast || !found.length) {
      const begun = [...entries.values()].filter((each) => each.term !== word && each.term.startsWith(word));
      found.push(...begun.sort((one, two) => size(two) - size(one)).slice(0, MOST_FORMS));
    }
    if (found.length || word.length < 4 || /\d/.test(word)) return { found };
    for (let cut = 1; cut < 5 && word.length - cut > 2; cut++) {
      const shorter = entries.get(word.slice(0, -cut));
      if (shorter && ENDING.test(word.slice(-cut))) return { found: [shorter], better: "" };
    }
    const most = word.length < 6 ? 1 : 2;
    const others = [word, word.slice(1), word[0] + word.slice(2), word[1] + word[0] + word.slice(2), word[0] + word[2] + word[1] + word.slice(3)];
    let best = null;
    for (const shard of new Set(await Promise.all(others.map((each) => this.shard(each))))) {
      for (const entry of shard.entries.values()) {
        const far = distance(word, entry.term, most);
        if (far <= most && (!best || far < best.far || (far === best.far && size(entry) > size(best.entry)))) best = { far, entry };
      }
    }
    return best ? { found: [best.entry], better: best.entry.term } : { found };
  }

  async looked(word, isLast) {
    const { found, better } = await this.meant(word, isLast);
    const isExact = found.length && (found[0].term === word || better !== undefined);
    const sure = isExact ? found[0].stems : [];
    const stems = [...new Set(found.flatMap((each) => each.stems))].slice(0, MOST_FORMS);
    const scores = new Map();
    const forms = new Set(found.map((each) => each.term));
    const { pages: total } = await this.open();
    const shards = await Promise.all(stems.map((stem) => this.shard(stem)));
    let count = 0;
    stems.forEach((stem, n) => {
      const entry = shards[n].entries.get(stem);
      if (!entry) return;
      for (const each of shards[n].entries.values()) if (each.stems.includes(stem)) forms.add(each.term);
      const listed = postings(entry.data);
      const share = sure.includes(stem) ? 1 : BEGUN;
      count = Math.max(count, listed.count);
      for (const [page, weight] of listed.pages) scores.set(page, Math.max(scores.get(page) || 0, share * weight));
    });
    const idf = Math.log(1 + (total - count + 0.5) / (count + 0.5));
    for (const [page, score] of scores) scores.set(page, score * idf);
    return { scores, forms, idf, isCut: count > scores.size, better };
  }

  async find(query, limit) {
    const isOpen = !/\s$/.test(query);
    const excluded = [];
    const plain = query.replace(/(^|\s)-(?=[\p{L}\p{N}])(\S+)/gu, (all, space, word) => {
      excluded.push(...words(word));
      return space;
    });
    const wanted = [...new Map([...words(plain)].map((each) => [each.word, each])).values()].slice(0, MOST_WORDS);
    const without = await Promise.all(excluded.slice(0, MOST_WORDS).map((each) => this.looked(each.word, false)));
    const found = await Promise.all(wanted.map((each, n) => this.looked(each.word, isOpen && n === wanted.length - 1)));
    const sums = new Map();
    for (const { scores } of found)
      for (const [page, score] of scores) {
        const sum = sums.get(page) || { page, score: 0, has: 0 };
        sum.score += score;
        sum.has++;
        sums.set(page, sum);
      }
    // The pages of very frequent words are not all listed, so no page can be required to be among them.
    const needed = found.filter((each) => !each.isCut);
    const has = ({ page }) => needed.reduce((sum, each) => sum + each.scores.has(page), 0);
    let pages = [...sums.values()].filter(({ page }) => !without.some((each) => each.scores.has(page)));
    const most = pages.reduce((sum, each) => Math.max(sum, has(each)), 0);
    pages = pages.filter((each) => has(each) === most).sort((one, two) => two.has - one.has || two.score - one.score || one.page - two.page);
    let corrected = query;
    wanted.forEach((each, n) => found[n].better && (corrected = corrected.replace(query.slice(each.at, each.to), found[n].better)));
    const hits = await Promise.all(pages.slice(0, limit).map(({ page }) => this.hit(page, found)));
    return {
      query,
      total: pages.length,
      hits,
      partial: pages.length > 0 && most < needed.length,
      suggestion: corrected === query ? "" : corrected,
      corrected: corrected !== query && hits.length > 0,
    };
  }

  async hit(page, found) {
    const { in_pack } = await this.open();
    const pack = Math.floor(page / in_pack);
    const pages = await this.file(`pages/${pack >> 10}/${pack}`, (bytes) => JSON.parse(new TextDecoder().decode(bytes)));
    const [url, title, description, text, sections = []] = pages[page % in_pack];
    const marks = [];
    for (const { word, at, to } of words(text)) {
      const which = found.findIndex((each) => each.forms.has(word));
      if (which >= 0) marks.push({ which, at, to });
    }
    const { at, from, to } = bestSection(sections, marks, text, found);
    const inside = marks.filter((mark) => mark.at >= from && mark.to <= to);
    const anchor = sections[at]?.[3];
    return {
      url: anchor ? `${url.split("#")[0]}#${anchor.replace(/[^!-~]/gu, encodeURIComponent)}` : url,
      title,
      path: anchor ? headings(sections, at, text, title) : [],
      excerpt: excerpt(text, inside, from, to) || [description],
    };
  }
}

/** Returns the section with most of the words, -1 for the page as a whole, and where its text is. */
function bestSection(sections, marks, text, found) {
  let best = { at: -1, from: 0, to: text.length };
  let most = 0;
  let next = 0;
  for (let at = -1; at < sections.length; at++) {
    const [from, length] = sections[at] || [0, 0];
    const to = at + 1 < sections.length ? sections[at + 1][0] : text.length;
    const inText = new Set();
    const inHeading = new Set();
    for (; next < marks.length && marks[next].at < to; next++) {
      inText.add(marks[next].which);
      if (marks[next].to <= from + length) inHeading.add(marks[next].which);
    }
    const sum = (which) => [...which].reduce((all, each) => all + found[each].idf, 0);
    const score = sum(inText) + 2 * sum(inHeading) - length / 10000;
    if (score > most) [most, best] = [score, { at, from, to }];
  }
  return best;
}

/** Returns the heading of a section after that of the section around it, without what only repeats the title. */
function headings(sections, at, text, title) {
  const path = [];
  let above = 10;
  for (; at >= 0; at--) {
    const [from, length, level] = sections[at];
    if (level >= above) continue;
    above = level;
    const heading = text.slice(from, from + length).replace(/\s+/g, " ").trim();
    if (!title.startsWith(heading)) path.unshift(heading);
  }
  return path.slice(-2);
}

/** Returns the parts of the passage with most of the words; every second one matches. */
function excerpt(text, marks, from, end) {
  if (!text) return null;
  const ROOM = 180;
  let start = from;
  let most = 0;
  marks.forEach((mark, n) => {
    const near = marks.slice(n, n + 40).filter((each) => each.to <= mark.at + ROOM - 40);
    const score = new Set(near.map((each) => each.which)).size * 10 + Math.min(near.length, 9);
    if (score > most) [most, start] = [score, Math.max(from, mark.at - 40)];
  });
  if (start > from) start += Math.max(0, text.slice(start, start + 30).search(/\s/) + 1);
  let stop = Math.min(end, start + ROOM);
  if (stop < end) stop = Math.max(start + ROOM / 2, text.lastIndexOf(" ", stop));
  const parts = [];
  let at = start;
  for (const mark of marks) {
    if (mark.at < at || mark.to > stop) continue;
    parts.push(text.slice(at, mark.at), text.slice(mark.at, mark.to));
    at = mark.to;
  }
  return [...parts, text.slice(at, stop)];
}

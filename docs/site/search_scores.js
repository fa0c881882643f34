// The order of what a search finds. Sphinx gives every page with a word in some heading the same score; here a page
// counts by how many words of the question one of its headings has, the hit leads to that heading, and pages for
// readers come before those of the project.
const PLACES = { tutorials: 4, "how-to": 3, install: 3, supported: 3, architecture: -9, changelog: -9, contributing: -9, untested: -6 };

var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 0, 1: 0, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  score: (result) => {
    const [page, , anchor, , score, , kind] = result;
    const place = PLACES[page.split("/")[0]] ?? 0;
    if (kind !== "text") return score + place;
    const best = findHeading(page);
    if (best.count > 0 && anchor === "") result[2] = best.anchor;
    return score + 3 * best.count + place;
  },
};

/** The heading of a page with most words of the question, the first of several; the title has no anchor. */
function findHeading(page) {
  const index = Search._index;
  const number = index.docnames.indexOf(page);
  const words = new Set(stemmed(new URLSearchParams(location.search).get("q") ?? ""));
  let best = { count: 0, anchor: "" };
  for (const [heading, places] of Object.entries(index.alltitles)) {
    for (const [file, anchor] of places) {
      if (file !== number) continue;
      const count = new Set(stemmed(heading).filter((word) => words.has(word))).size;
      const isTitle = index.titles[number] === heading;
      if (count > best.count || (count === best.count && count > 0 && isTitle)) best = { count, anchor: isTitle ? "" : `#${anchor}` };
    }
  }
  return best;
}

function stemmed(text) {
  const stemmer = new Stemmer();
  return splitQuery(text.toLowerCase()).filter((word) => !stopwords.has(word)).map((word) => stemmer.stemWord(word));
}

// The page that compares two recordings: the comparison's sections, and both timelines from the recordings' views.
import { swapAligned } from "/report-assets/comparison/align.js";
import { showCompareProblem, startComparison } from "/report-assets/comparison/compare.js";
import { DIFFERENCE_FORMAT, readView } from "/report-assets/data/decode.js";
import { createSource } from "/report-assets/data/source.js";
import { fetchChecked, fetchResult } from "./shared/requests.js";
import { fetchSections } from "./shared/sections.js";
import { loadSamples } from "./recording/sample_block.js";

export async function showComparison(element) {
  const { base, new: compared } = element.dataset;
  const [first, second] = [base, compared].map(encodeURIComponent);
  const addresses = [first, second].map((id) => `/api/recordings/${id}`);
  const status = document.getElementById("status");
  status.textContent = "Loading the comparison …";
  keepSwapLink();
  try {
    const loading = Promise.all(addresses.map(viewAt));
    loading.catch(() => {}); // reported below, once the sections are shown
    const sections = await fetchSections(`/api/compare/${first}/${second}/sections`);
    document.getElementById("sections").replaceChildren(...sections);
    const views = await loading;
    const block = await fetchChecked(`/api/compare/${first}/${second}/difference`).then((response) => response.arrayBuffer());
    status.textContent = "";
    const sources = views.map(createSource);
    startComparison(sources, readView(block, DIFFERENCE_FORMAT));
    sources.forEach((source, index) => loadSamples(source, addresses[index], status.parentElement));
  } catch (error) {
    showCompareProblem(error);
  }
}

async function viewAt(address) {
  return readView(await fetchResult(`${address}/view`, (response) => response.arrayBuffer()));
}

/** The link that swaps the sides keeps the visible time and the windows. */
function keepSwapLink() {
  const link = document.getElementById("compare-swap");
  link.addEventListener("click", () => {
    link.hash = swapAligned(location.hash);
  });
}

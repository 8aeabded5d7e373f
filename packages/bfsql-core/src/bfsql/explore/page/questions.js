// @ts-check
/** Questions that the schema of a graph suggests, each with the view that answers it. */

import { propertiesOf } from "./steps.js";
import { pluralOf, predicateWords } from "./words.js";

/** @typedef {import("./schema.js").Schema} Schema */
/** @typedef {{text: string, state: Partial<import("./state.js").State>}} Question */

/** At most four questions. @param {Schema} known @returns {Question[]} */
export function questionsOf(known) {
  const relations = [...known.relations].sort((a, b) => (b.count ?? 0) - (a.count ?? 0)).filter(({ subject, object }) => subject !== object);
  const [first] = relations;
  const second = relations.find(({ subject, object }) => subject !== first.subject || object !== first.object);
  const properties = known.types.flatMap((type) => propertiesOf([type], known).map((one) => ({ type, ...one }))).sort((a, b) => (known.nodeCounts.get(b.type) ?? 0) - (known.nodeCounts.get(a.type) ?? 0));
  const by = properties.find(({ type, numbers }) => numbers?.every(Number.isInteger) && type === first?.object) ?? properties.find(({ name, values }) => values.length && name !== "name") ?? properties.find(({ numbers }) => numbers);
  const same = relations.flatMap((one, at) => relations.slice(at + 1).filter((other) => other.subject === one.subject && other.object === one.object).map((other) => [other, one]))[0];
  // Where each subject has one relation, a ranking of the subjects says nothing.
  const single = first && first.count === known.nodeCounts.get(first.subject);
  return /** @type {Question[]} */ ([
    first && (single ? having(first) : { text: `Which ${pluralOf(first.subject)} ${predicateWords(first.predicate)} the most ${pluralOf(first.object)}?`, state: ranking(first.subject, `-${first.predicate}-> ${first.object}`) }),
    by && { text: `${pluralOf(by.type)} by ${by.name}`, state: { view: "walk", seeds: [`${by.type}:*`], hops: 0, ...(by.numbers ? { sort_by: `-${by.name}` } : {}) } },
    second && having(second),
    same && {
      text: `${pluralOf(same[0].subject)} that ${predicateWords(same[0].predicate)} and ${predicateWords(same[1].predicate)} the same ${same[0].object}`,
      state: { view: "walk", seeds: [`${same[0].subject}:*`], path: [`-${same[0].predicate}-> ${same[0].object}`, `<-${same[1].predicate}- ${same[0].subject}`], where: ["2 = 0"], show: "0" },
    },
  ].filter(Boolean));
}

/** @param {Schema["relations"][number]} relation @returns {Question} */
function having({ subject, predicate, object }) {
  return { text: `Which ${pluralOf(object)} have the most ${pluralOf(subject)}?`, state: ranking(object, `<-${predicate}- ${subject}`) };
}

/** @param {string} type @param {string} step */
function ranking(type, step) {
  return { view: "walk", seeds: [`${type}:*`], path: [step], show: "0", measure: ["count 1"], sort_by: "-measure" };
}

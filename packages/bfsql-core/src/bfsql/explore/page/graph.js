// @ts-check
/** The graph on the page: answers merged into nodes and edges. */

/**
 * @typedef {object} Node
 * @property {string} id
 * @property {string} name The name, or the id if no name is known.
 * @property {string} type
 * @property {boolean} full Whether an answer contained its record; a stub has only an identity.
 * @property {boolean} seed
 * @property {boolean} via Whether it is only on a connection (`intersect_subgraphs`).
 * @property {number} degree Edges on the page that touch it.
 * @property {Record<string, any>} metadata
 * @property {number} [paths] Walks of a path through it, if an answer counts them.
 * @property {any[]} [measure] Numbers over these walks, in the order of `measure`.
 */

/** @typedef {{subject: string, predicate: string, object: string, metadata?: Record<string, any>}} Edge */

export class Graph {
  /** @type {Map<string, Node>} */
  #nodes = new Map();
  /** @type {Map<string, Edge>} */
  #edges = new Map();

  /** @returns {Node[]} In the order of the answers. */
  get nodes() {
    return [...this.#nodes.values()];
  }

  /** @returns {Edge[]} */
  get edges() {
    return [...this.#edges.values()];
  }

  get size() {
    return this.#nodes.size;
  }

  /** @param {string} id */
  node(id) {
    return this.#nodes.get(id);
  }

  /** The name to show for an id. @param {string} id */
  nameOf(id) {
    return this.#nodes.get(id)?.name ?? id;
  }

  /** The graph without nodes that no edge touches; itself if there are none. */
  connected() {
    const found = new Graph();
    found.#nodes = new Map([...this.#nodes].filter(([, node]) => node.degree > 0));
    found.#edges = this.#edges;
    return found.size === this.size ? this : found;
  }

  /** Name the nodes of which the answers have only the ids. @param {(id: string) => string} name */
  rename(name) {
    for (const node of this.#nodes.values()) if (node.name === node.id) node.name = name(node.id);
  }

  /** Merge an answer of `bfs_query` or `intersect_subgraphs`. @param {{nodes?: any[], edges?: any[], seeds?: string[], measure?: string[]}} answer @param {{seeds?:
   * boolean}} [how] Whether the answer's seeds are marked as such. */
  add(answer, { seeds = true } = {}) {
    const marked = new Set(seeds ? answer.seeds ?? [] : []);
    const several = (answer.measure ?? []).length > 1;
    for (const node of answer.nodes ?? []) this.#addNode(node, marked.has(node.id), several);
    for (const edge of answer.edges ?? []) this.#addEdge(edge);
    return this;
  }

  /** @param {any} node @param {boolean} seed @param {boolean} several Whether its measures are a list. */
  #addNode(node, seed, several) {
    const known = this.#nodes.get(node.id);
    const metadata = node.metadata ?? known?.metadata ?? {};
    this.#nodes.set(node.id, {
      id: node.id,
      name: nameIn(metadata) ?? known?.name ?? node.name ?? node.id,
      type: node.entity_type,
      full: node.metadata !== undefined || (known?.full ?? false),
      seed: seed || (known?.seed ?? false),
      via: Boolean(node.via) && (known?.via ?? true),
      degree: known?.degree ?? 0,
      metadata,
      paths: node.paths ?? known?.paths,
      measure: node.measure === undefined ? known?.measure : several ? node.measure : [node.measure],
    });
  }

  /** @param {any} edge */
  #addEdge({ subject, predicate, object, metadata }) {
    const key = `${subject.length} ${predicate.length} ${subject}${predicate}${object}`;
    const known = this.#edges.get(key);
    this.#edges.set(key, { subject, predicate, object, ...(metadata ?? known?.metadata ? { metadata: metadata ?? known?.metadata } : {}) });
    if (known) return;
    for (const id of new Set([subject, object])) {
      const node = this.#nodes.get(id);
      if (node) node.degree += 1;
    }
  }

  /** The edges of each node by its neighbours. @returns {Map<string, Map<string, Edge[]>>} */
  neighbours() {
    /** @type {Map<string, Map<string, Edge[]>>} */
    const near = new Map([...this.#nodes.keys()].map((id) => [id, new Map()]));
    for (const edge of this.#edges.values())
      for (const [id, other] of [[edge.subject, edge.object], [edge.object, edge.subject]]) if (near.has(other)) near.get(id)?.set(other, [...(near.get(id)?.get(other) ?? []), edge]);
    return near;
  }

  /** How many edges nodes are away from the seeds or others, the next ones first; those without a way are left out. @param {Map<string, Map<string, Edge[]>>} near @param
   * {(node: Node) => boolean} [isStart] */
  steps(near, isStart = ({ seed }) => seed) {
    const steps = new Map(this.nodes.filter(isStart).map(({ id }) => [id, 0]));
    for (const [id, step] of steps) for (const other of near.get(id)?.keys() ?? []) if (!steps.has(other)) steps.set(other, step + 1); // and so on from these
    return steps;
  }

  /** Nodes by type, the most frequent first. @returns {[string, number][]} */
  typeCounts() {
    /** @type {Map<string, number>} */
    const counts = new Map();
    for (const node of this.#nodes.values()) counts.set(node.type, (counts.get(node.type) ?? 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  }
}

/** The display name in a record. @param {Record<string, any>} metadata @returns {string | null} */
export function nameIn(metadata) {
  const value = metadata.name;
  return typeof value === "string" && value.trim() ? value : null;
}

/** The parts of a relation of `describe_schema` (`"Trial -studies-> Disease (2087)"`); from a sample without a number. Names may contain blanks and arrows, so the types
 * and predicates of the schema decide. @param {string} text @param {{entity_types: string[], predicates: string[]}} schema */
export function relationOf(text, schema) {
  const [, triple, number] = /^(.*) \(([\d,]+)(?:, \d+ with an end)?\)$/s.exec(text) ?? [];
  const [counted, uncounted] = [triple && ends(triple, schema), ends(text, schema)];
  return counted ? { ...counted, count: Number(number.replaceAll(",", "")) } : uncounted && { ...uncounted, count: null };
}

/** @param {string} triple @param {{entity_types: string[], predicates: string[]}} schema */
function ends(triple, { entity_types: types, predicates }) {
  const longest = [...types].sort((a, b) => b.length - a.length);
  for (const subject of longest.filter((t) => triple.startsWith(`${t} -`)))
    for (const object of longest.filter((t) => triple.endsWith(`-> ${t}`))) {
      const predicate = triple.slice(subject.length + 2, triple.length - object.length - 3);
      if (predicates.includes(predicate)) return { subject, predicate, object };
    }
  return null;
}

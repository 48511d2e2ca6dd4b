// What stands within a line. The groups say which kind was found.
const INLINE = new RegExp(
  [
    /\\(?<escaped>[!-/:-@[-`{-~])/u,
    /(?<ticks>`+)(?<code>[^`]|[^`].*?[^`])\k<ticks>(?!`)/u,
    /<(?<address>https?:\/\/[^\s<>]+)>/u,
    /(?<hidden><(?<raw>script|style)\b[^<>]*>.*?<\/\k<raw>\s*>|<!--.*?-->|<\/?[a-z][^<>]*>)/u,
    /(?<picture>!?)\[(?<label>[^[\]]*)\]\((?<target>[^()\s]*)[^()]*\)/u,
    /(?<stars>\*{1,3})(?=[^\s*])(?<emphasised>.+?)(?<![\s*])\k<stars>(?!\*)/u,
    /(?<![\p{L}\p{N}_])(?<bars>_{1,3})(?=[^\s_])(?<stressed>.+?)(?<![\s_])\k<bars>(?![\p{L}\p{N}_])/u,
    /~~(?=\S)(?<struck>.+?)(?<=\S)~~/u,
    // A straight mark after a letter is something else, as in 6'2", but not after scripts that put no space before it.
    /(?<said>(?<!(?=[\0-\u2e7f])[\p{L}\p{N}])"(?=\S)[^"]*"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|「[^」]*」|『[^』]*』)/u,
  ]
    .map(({ source }) => source)
    .join("|"),
  "gisu",
)

// What has begun and has not ended yet is drawn as though it would: the end is usually on its way.
const BEGUN = new RegExp(
  [
    /(?<tag><(?:[a-z/!][^<>]*)?$)/u,
    /(?<stars>\*{1,3})(?=[^\s*])(?<emphasised>[^*]+)$/u,
    /(?<said>(?<!(?=[\0-\u2e7f])[\p{L}\p{N}])"(?=\S)[^"]*|“[^”]*|„[^“”]*|«[^»]*|「[^」]*|『[^』]*)$/u,
  ]
    .map(({ source }) => source)
    .join("|"),
  "isu",
)

// Looking for pairs in a wall of text would take longer than reading it.
const LONGEST = 4_000

const EMPHASIS = [[], ["em"], ["strong"], ["em", "strong"]]
const OUTSIDE = /^(?:https?|mailto):/iu
const OWN_PICTURE = /^\/api\/v1\/(?:blobs\/[0-9a-f]{64}|characters\/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\/avatar)$/u

// Whether nothing would be seen of a text.
export function isOnlyTags(text: string): boolean {
  return text.replace(/<!--.*?(?:-->|$)|<\/?[a-z][^<>]*>/gisu, "").trim() === ""
}

// Text with its emphasis, speech and links; `open` when it is still being written.
export function inline(text: string, open: boolean): Node[] {
  if (text.length > LONGEST) return lines(text)
  const nodes: Node[] = []
  let done = 0
  for (const match of text.matchAll(INLINE)) {
    nodes.push(...lines(text.slice(done, match.index)), ...found(match.groups ?? {}, match[0]))
    done = match.index + match[0].length
  }
  const rest = text.slice(done)
  const begun = open ? BEGUN.exec(rest) : null
  if (!begun) return [...nodes, ...lines(rest)]
  const { stars, emphasised, said } = begun.groups ?? {}
  nodes.push(...lines(rest.slice(0, begun.index)))
  if (stars && emphasised) nodes.push(nest(EMPHASIS[stars.length] ?? [], inline(emphasised, true)))
  if (said) nodes.push(speech(said.slice(0, 1), said.slice(1), "", true))
  return nodes
}

function found(groups: Record<string, string | undefined>, whole: string): Node[] {
  if (groups.escaped) return [document.createTextNode(groups.escaped)]
  if (groups.code) return [nest(["code"], [document.createTextNode(groups.code.replaceAll("\n", " "))])]
  if (groups.address) return [link(groups.address, [document.createTextNode(groups.address)])]
  if (groups.hidden) return /^<br\b/iu.test(whole) ? [document.createElement("br")] : []
  if (groups.target !== undefined) return reference(groups)
  const mark = groups.stars ?? groups.bars
  if (mark) return [nest(EMPHASIS[mark.length] ?? [], inline(groups.emphasised ?? groups.stressed ?? "", false))]
  if (groups.struck) return [nest(["s"], inline(groups.struck, false))]
  return [speech(whole.slice(0, 1), whole.slice(1, -1), whole.slice(-1), false)]
}

function reference({ picture, label = "", target = "" }: Record<string, string | undefined>): Node[] {
  if (!picture) return OUTSIDE.test(target) ? [link(target, inline(label, false))] : inline(label, false)
  if (OWN_PICTURE.test(target)) {
    const image = document.createElement("img")
    image.alt = label
    image.src = target
    return [image]
  }
  const words = document.createTextNode(label.trim() || "picture")
  // Pictures from elsewhere are never asked for.
  return /^https?:/iu.test(target) ? [link(target, [words], "picture-link")] : [words]
}

function link(address: string, content: Node[], className = ""): Node {
  const element = document.createElement("a")
  element.href = address
  element.target = "_blank"
  element.rel = "noopener noreferrer nofollow"
  if (className) element.className = className
  element.append(...content)
  return element
}

function speech(begin: string, words: string, end: string, open: boolean): Node {
  const element = document.createElement("q")
  element.className = "said"
  element.append(begin, ...inline(words, open), end)
  return element
}

function nest(tags: string[], content: Node[]): Node {
  const fragment = document.createDocumentFragment()
  fragment.append(...content)
  return tags.reduceRight<Node>((inner, tag) => {
    const element = document.createElement(tag)
    element.append(inner)
    return element
  }, fragment)
}

function lines(text: string): Node[] {
  return text.split("\n").flatMap((line, index) => {
    const node = document.createTextNode(line)
    return index === 0 ? [node] : [document.createElement("br"), node]
  })
}

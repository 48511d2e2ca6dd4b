// How the pages look: attributes of the document, which the style sheet has rules for.
export type Look = Record<string, string>

export function apply(look: Look): void {
  const { dataset } = document.documentElement
  for (const [name, value] of Object.entries(look)) if (name !== "theme") dataset[name] = value
  if (look.theme !== undefined) applyScheme(look.theme)
  applyOwnAccent()
}

export function applyScheme(scheme: string): void {
  const { dataset } = document.documentElement
  if (scheme === "system") delete dataset.theme
  else dataset.theme = scheme
}

// A colour of one's own has no rule; nothing but a script may set it here.
export function applyOwnAccent(): void {
  const { dataset, style } = document.documentElement
  if (dataset.ownAccent) style.setProperty("--own-accent", dataset.ownAccent)
}

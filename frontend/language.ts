// Sentences of the scripts in the language of the page. `scripts/translations.py` finds them by `_` and `ngettext`.

type Values = Record<string, string | number>

const language = document.documentElement.lang || "en"
const known: Record<string, string[]> = JSON.parse(document.getElementById("messages_of_scripts")?.textContent || "{}")
// The language of the page, as it is written where the reader lives.
export const locale = navigator.languages.find((wish) => wish.split("-")[0] === language.split("-")[0]) ?? language
const numbers = new Intl.NumberFormat(locale)
const rules = new Intl.PluralRules(language)
// The order in which catalogues have the forms of a sentence: Russian has three, Chinese one.
const order: Intl.LDMLPluralRule[] = ["one", "few", "many", "other"]
const forms = order.filter((form) => rules.resolvedOptions().pluralCategories.includes(form))

/** The sentence in the language of the page, with its values in their places. */
export function _(template: string, values: Values = {}): string {
  return filled(known[template]?.[0] ?? template, values)
}

/** A sentence about `count` things, in the form for that number. */
export function ngettext(one: string, many: string, count: number, values: Values = {}): string {
  const all = known[one] ?? [one, many]
  const form = Math.min(Math.max(forms.indexOf(rules.select(count)), 0), all.length - 1)
  return filled(all[form] ?? many, { count, ...values })
}

function filled(template: string, values: Values): string {
  return template.replace(/(?<!\{)\{(\w+)\}(?!\})/g, (place, name: string) => {
    const value = values[name]
    return value === undefined ? place : typeof value === "number" ? numbers.format(value) : value
  })
}

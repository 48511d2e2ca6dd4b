import { _ } from "./language"
import { limitedFetch } from "./request_limit"
import { setUnsaved } from "./unsaved"

export type Json = null | boolean | number | string | Json[]
type ByGroup<T> = Record<string, Record<string, T>>

// The settings of one layer as the API gives them.
export interface Settings {
  settings_version: number
  own: ByGroup<Json>
  effective: ByGroup<{ value: Json; source: string }>
}

interface Conflict {
  mine: Json
  theirs: Json
}

interface Held {
  value: Json
  sentence: string
}

interface Refusal {
  error?: { code?: string; sentence?: string; current?: Settings | null }
}

const PAUSE_MS = 300
const FIRST_RETRY_MS = 1_000
const LONGEST_RETRY_MS = 15_000
// Browsers send no more than this behind a page that is closed.
const KEPT_ALIVE = 60_000

const stores = new Map<string, SettingsStore>()

// What was changed in one layer and is not saved yet. It outlives the form: a panel that is closed, or drawn anew while
// something is on its way, loses nothing.
export class SettingsStore {
  latest: Settings | undefined
  status = ""
  readonly conflicts = new Map<string, Conflict>()
  // What cannot be saved as it is; it stays where it was typed, with why.
  readonly held = new Map<string, Held>()
  // What was changed elsewhere while the page was open.
  readonly news = new Set<string>()
  // Something was changed elsewhere that is not taken over yet.
  isBehind = false

  private version = -1
  private own = new Map<string, Json>()
  private pending = new Map<string, Json>()
  private sending: Map<string, Json> | undefined
  // What was sent and not answered: the server may have it.
  private unanswered = new Map<string, Json>()
  private saving = Promise.resolve()
  private timer = 0
  private retry = FIRST_RETRY_MS
  private readonly listeners = new Set<() => void>()

  constructor(private readonly resource: string) {}

  listen(listener: () => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  // What a page says that was just drawn. One that is older than what is known here says nothing; nor does any while
  // something waits that was typed on what is known here, because the server is to compare it with that.
  see(version: number, own: Map<string, Json>): void {
    if (version < this.version || (this.version >= 0 && this.waiting > 0)) return
    if (version > this.version) this.latest = undefined
    this.version = version
    this.own = own
  }

  // What somebody has typed there, as long as it is not saved.
  typed(path: string): Json | undefined {
    return [this.held.get(path)?.value, this.conflicts.get(path)?.mine, this.pending.get(path), this.sending?.get(path)].find(
      (value) => value !== undefined,
    )
  }

  edit(path: string, value: Json): void {
    this.news.delete(path)
    this.held.delete(path)
    this.conflicts.delete(path)
    this.pending.set(path, value)
    this.changed("")
    this.later(PAUSE_MS)
  }

  hold(path: string, value: Json, sentence: string): void {
    this.pending.delete(path)
    this.held.set(path, { value, sentence })
    this.changed()
  }

  takeTheirs(path: string): void {
    this.held.delete(path)
    this.conflicts.delete(path)
    this.changed()
  }

  // Something was changed elsewhere: take it over, and compare it with what was typed. Only while it would change the
  // control that somebody is in, and has not typed in yet, all stays; the server then compares what they type with that.
  async look(inside: string | undefined): Promise<void> {
    while (this.sending) await this.saving
    const current = await this.read()
    if (!current || this.sending || current.settings_version < this.version) return
    const changed = this.differing(current)
    for (const path of changed) this.news.add(path)
    if (changed.length > 0) this.status = _("Settings were changed elsewhere.")
    this.isBehind = inside !== undefined && this.typed(inside) === undefined && this.wouldChange(inside, current)
    if (this.isBehind) {
      this.changed()
      return
    }
    for (const [path, { value }] of this.held)
      if (changed.includes(path)) this.conflicts.set(path, { mine: value, theirs: null })
    this.compare(this.pending, current)
  }

  // One save at a time; what is typed meanwhile goes with the next.
  async flush(): Promise<void> {
    clearTimeout(this.timer)
    if (this.sending || this.pending.size === 0) return
    this.saving = this.save()
    await this.saving
  }

  private async save(): Promise<void> {
    const sent = (this.sending = this.pending)
    this.pending = new Map()
    this.changed("")
    const answer = await this.send(sent)
    // Until it is read, what was sent is on its way: whoever looks meanwhile would take it for somebody else's.
    const body = ((await answer?.json().catch(() => ({}))) ?? {}) as Settings | Refusal
    this.sending = undefined
    if (answer) await this.answered(answer, body, sent)
    else this.tryAgain(sent, _("The server did not answer. Your changes are kept and saved again soon."))
  }

  private async send(sent: Map<string, Json>): Promise<Response | undefined> {
    const body = JSON.stringify({ settings_version: this.version, settings: byGroup(sent) })
    const headers = { "Content-Type": "application/json", Accept: "application/json" }
    try {
      return await limitedFetch(this.resource, { method: "PATCH", headers, body, keepalive: body.length < KEPT_ALIVE })
    } catch {
      return undefined
    }
  }

  private async answered(answer: Response, body: Settings | Refusal, sent: Map<string, Json>): Promise<void> {
    if (answer.ok) {
      this.adopt(body as Settings)
      this.retry = FIRST_RETRY_MS
      this.changed(this.waiting === 0 ? _("Saved") : "")
      return this.flush()
    }
    const { error } = body as Refusal
    const sentence = error?.sentence ?? _("The server answered with error {status}.", { status: String(answer.status) })
    if (error?.code === "stale" && error.current) {
      this.compare(sent, error.current)
      return this.flush()
    }
    if (answer.status >= 500 || answer.status === 429) this.tryAgain(sent, sentence)
    else this.refuse(sent, sentence)
  }

  private async read(): Promise<Settings | undefined> {
    try {
      const answer = await limitedFetch(this.resource, { headers: { Accept: "application/json" } })
      return answer.ok ? ((await answer.json()) as Settings) : undefined
    } catch {
      // It is asked for again when the next change is told, or something is saved.
      return undefined
    }
  }

  // Where these settings say something else than what is known here.
  private differing(current: Settings): string[] {
    const paths = new Set([...this.own.keys(), ...ownOf(current).keys()])
    return [...paths].filter((path) => !isSame(ownIn(current, path), this.own.get(path) ?? null))
  }

  private wouldChange(path: string, current: Settings): boolean {
    const [before, now] = [this.latest, current].map((settings) => settings && effectiveIn(settings, path).value)
    return before === undefined || now === undefined || !isSame(before, now) || this.differing(current).includes(path)
  }

  // Somebody was faster. What they left alone is saved over the new version; what they changed too is not overwritten
  // before somebody has seen both.
  private compare(sent: Map<string, Json>, current: Settings): void {
    for (const [path, value] of sent) {
      const newer = this.pending.get(path)
      const mine = newer === undefined ? value : newer
      const theirs = ownIn(current, path)
      if (isSame(theirs, mine)) this.pending.delete(path)
      else if (isSame(theirs, this.own.get(path) ?? null) || this.mayBeOurs(path, theirs)) this.pending.set(path, mine)
      else {
        this.pending.delete(path)
        this.conflicts.set(path, { mine, theirs })
      }
    }
    for (const [path, conflict] of this.conflicts) conflict.theirs = ownIn(current, path)
    this.adopt(current)
    this.changed(
      this.conflicts.size > 0 ? _("Not everything is saved: the same settings were changed elsewhere.") : this.status,
    )
  }

  private mayBeOurs(path: string, theirs: Json): boolean {
    const sent = this.unanswered.get(path)
    return sent !== undefined && isSame(theirs, sent)
  }

  private refuse(sent: Map<string, Json>, sentence: string): void {
    const paths = [...sent.keys()]
    const bad = paths.filter((path) => sentence.includes(` ${path} `))
    for (const [path, value] of sent) {
      if (bad.length > 0 && !bad.includes(path)) this.putBack(path, value)
      else if (!this.pending.has(path)) this.held.set(path, { value, sentence })
    }
    this.changed(_("Not everything is saved."))
    this.later(PAUSE_MS)
  }

  private tryAgain(sent: Map<string, Json>, sentence: string): void {
    for (const [path, value] of sent) {
      this.unanswered.set(path, value)
      this.putBack(path, value)
    }
    this.changed(sentence)
    this.later(this.retry)
    this.retry = Math.min(this.retry * 2, LONGEST_RETRY_MS)
  }

  private putBack(path: string, value: Json): void {
    if (!this.pending.has(path)) this.pending.set(path, value)
  }

  private adopt(settings: Settings): void {
    this.latest = settings
    this.version = settings.settings_version
    this.own = ownOf(settings)
    this.unanswered.clear()
  }

  private later(pause: number): void {
    clearTimeout(this.timer)
    if (this.pending.size > 0) this.timer = window.setTimeout(() => void this.flush(), pause)
  }

  private changed(status = this.status): void {
    this.status = status
    setUnsaved(this.resource, this.waiting > 0)
    for (const listener of this.listeners) listener()
  }

  private get waiting(): number {
    return this.pending.size + this.conflicts.size + this.held.size + (this.sending?.size ?? 0)
  }
}

export function settingsStore(resource: string): SettingsStore {
  let store = stores.get(resource)
  if (!store) stores.set(resource, (store = new SettingsStore(resource)))
  return store
}

function ownOf(settings: Settings): Map<string, Json> {
  const groups = Object.entries(settings.own)
  return new Map(
    groups.flatMap(([group, content]) => Object.entries(content).map(([name, value]) => [`${group}.${name}`, value] as const)),
  )
}

export function ownIn(settings: Settings, path: string): Json {
  const [group = "", name = ""] = path.split(".")
  return settings.own[group]?.[name] ?? null
}

export function effectiveIn(settings: Settings, path: string): { value: Json; source: string } {
  const [group = "", name = ""] = path.split(".")
  return settings.effective[group]?.[name] ?? { value: null, source: "default" }
}

function byGroup(values: Map<string, Json>): ByGroup<Json> {
  const groups: ByGroup<Json> = {}
  for (const [path, value] of values) {
    const [group = "", name = ""] = path.split(".")
    groups[group] = { ...groups[group], [name]: value }
  }
  return groups
}

function isSame(one: Json, other: Json): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

// What is typed in the last moment is sent along when the page goes.
addEventListener("pagehide", () => {
  for (const store of stores.values()) void store.flush()
})

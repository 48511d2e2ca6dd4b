import { bodyOf, type ChosenFiles, type FolderFile } from "./folder_files"
import { _ } from "./language"
import { limitedFetch } from "./request_limit"

const AT_ONCE = 4
const TRIES = 4
const FIRST_PAUSE = 250
const SILENT = 60_000
const ASKED_AT_ONCE = 1000

// Without a file, there is nothing that could be sent again.
export interface FailedFile {
  path: string
  reason: string
  file?: File
}

interface Answer {
  id?: string
  paths?: string[]
  error?: { sentence?: string }
}

type State = "sending" | "incomplete" | "scanning" | "over"

// It belongs to the tab and not to the page: whoever goes to another page of ours does not stop it.
let current: FolderUpload | null = null

export function currentUpload(): FolderUpload | null {
  return current
}

// With an id, the upload of that import goes on: what has arrived is not sent again.
export function startUpload(files: ChosenFiles, importId = ""): FolderUpload {
  current = new FolderUpload(files, importId)
  void current.run()
  return current
}

addEventListener("beforeunload", (event) => {
  if (current?.state === "sending") event.preventDefault()
})

// Sends the files of a folder, some at a time, each several times if need be, and then has them scanned.
export class FolderUpload extends EventTarget {
  state: State = "sending"
  // Why it ended before its time.
  problem = ""
  failed: FailedFile[]
  sentFiles = 0
  readonly name: string
  readonly totalFiles: number
  readonly totalBytes: number

  private waiting: FolderFile[]
  private isContinued: boolean
  private readonly underway = new Map<XMLHttpRequest, number>()
  private finishedBytes = 0

  constructor(
    { name, files, unreadable }: ChosenFiles,
    public importId: string,
  ) {
    super()
    this.isContinued = importId !== ""
    this.failed = unreadable.map((path) => ({ path, reason: _("The browser cannot read it.") }))
    this.name = name
    this.waiting = [...files].reverse()
    this.totalFiles = files.length
    this.totalBytes = files.reduce((sum, one) => sum + bodyOf(one).size, 0)
  }

  get sentBytes(): number {
    return [...this.underway.values()].reduce((sum, bytes) => sum + bytes, this.finishedBytes)
  }

  get address(): string {
    return `/import/${this.importId}`
  }

  async run(): Promise<void> {
    try {
      if (!this.importId) this.importId = (await post("/api/v1/imports", { name: this.name })).id ?? ""
      if (this.isContinued) await this.leaveOutArrived()
      await Promise.all(Array.from({ length: AT_ONCE }, () => this.sendAll()))
      if (this.state !== "sending") return
      if (this.failed.length > 0) this.change("incomplete")
      else await this.scan()
    } catch (error) {
      this.end(error instanceof Error ? error.message : String(error))
    }
  }

  // The files that failed, once more.
  retry(): void {
    for (const { path, file } of this.failed) if (file) this.waiting.push({ path, file })
    this.failed = this.failed.filter(({ file }) => !file)
    this.change("sending")
    void this.run()
  }

  // Goes on with those that have arrived.
  async scan(): Promise<void> {
    this.change("scanning")
    try {
      await post(`/api/v1/imports/${this.importId}/scan`)
      this.end("")
    } catch (error) {
      this.end(error instanceof Error ? error.message : String(error))
    }
  }

  async cancel(): Promise<void> {
    this.end(_("The upload was canceled."))
    for (const request of this.underway.keys()) request.abort()
    if (this.importId) await limitedFetch(`/api/v1/imports/${this.importId}`, { method: "DELETE" }).catch(() => undefined)
  }

  private async leaveOutArrived(): Promise<void> {
    const asked = this.waiting
    const missing: FolderFile[] = []
    for (let start = 0; start < asked.length && this.state === "sending"; start += ASKED_AT_ONCE) {
      const some = asked.slice(start, start + ASKED_AT_ONCE)
      const files = some.map((one) => ({ path: one.path, size: bodyOf(one).size, modified: one.file.lastModified }))
      const { paths } = await post(`/api/v1/imports/${this.importId}/missing_files`, { files })
      const wanted = new Set(paths)
      for (const one of some) {
        if (wanted.has(one.path)) missing.push(one)
        else this.count(one)
      }
      this.changed()
    }
    this.waiting = missing
    this.isContinued = false
  }

  private count(file: FolderFile): void {
    this.sentFiles += 1
    this.finishedBytes += bodyOf(file).size
  }

  private async sendAll(): Promise<void> {
    for (let file = this.waiting.pop(); file && this.state === "sending"; file = this.waiting.pop()) {
      const reason = await this.send(file)
      if (this.state !== "sending") return
      if (reason) this.failed.push({ ...file, reason })
      else this.count(file)
      this.changed()
    }
  }

  // Why the file could not be sent, or nothing. What the server refuses is not sent again; what gets lost is.
  private async send(file: FolderFile): Promise<string> {
    let reason = ""
    for (let tries = 0; tries < TRIES && this.state === "sending"; tries += 1) {
      if (tries > 0) await new Promise((resolve) => setTimeout(resolve, FIRST_PAUSE * 2 ** tries))
      const { status, text } = await this.put(file)
      if (status >= 200 && status < 300) return ""
      reason = sentenceIn(text) || _("It cannot be read, or the server does not answer.")
      if (status >= 400 && status < 500 && status !== 429) return reason
    }
    return reason
  }

  private put(file: FolderFile): Promise<{ status: number; text: string }> {
    return new Promise((resolve) => {
      // `fetch` does not say how much of a body has been sent.
      const request = new XMLHttpRequest()
      let silence = 0
      const heard = () => {
        clearTimeout(silence)
        silence = setTimeout(() => request.abort(), SILENT)
      }
      request.upload.addEventListener("progress", (event) => {
        this.underway.set(request, event.loaded)
        heard()
        this.changed()
      })
      request.addEventListener("loadend", () => {
        clearTimeout(silence)
        this.underway.delete(request)
        resolve({ status: request.status, text: request.responseText })
      })
      this.underway.set(request, 0)
      heard()
      const named = new URLSearchParams({ path: file.path, modified: String(file.file.lastModified) })
      request.open("PUT", `/api/v1/imports/${this.importId}/files?${named}`)
      request.setRequestHeader("Content-Type", "application/octet-stream")
      request.send(bodyOf(file))
    })
  }

  private end(problem: string): void {
    if (this.state === "over") return
    this.problem = problem
    if (current === this) current = null
    this.change("over")
  }

  private change(state: State): void {
    this.state = state
    this.changed()
  }

  private changed(): void {
    this.dispatchEvent(new Event("change"))
  }
}

async function post(address: string, body?: object): Promise<Answer> {
  const json = body && { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }
  let response: Response
  try {
    response = await limitedFetch(address, { method: "POST", ...json })
  } catch {
    throw new Error(_("The server did not answer. Try again in a moment."))
  }
  const text = await response.text()
  if (!response.ok) throw new Error(sentenceIn(text) || _("The server did not answer. Try again in a moment."))
  return JSON.parse(text) as Answer
}

function sentenceIn(text: string): string {
  try {
    return (JSON.parse(text) as Answer).error?.sentence ?? ""
  } catch {
    return ""
  }
}

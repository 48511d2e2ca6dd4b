import { _ } from "./language"
import { lastReply } from "./last_reply"
import { areNotificationsOn, SHOW_TEXT_KEY } from "./notifications"
import { load } from "./storage"
import { uuid } from "./uuid"

interface Reply {
  conversation: string
  run: string
  speaker: string
}

// Said between the tabs of a browser: a hidden one is about to notify, and one that somebody looks at objects.
type Notice = { kind: "about"; run: string; conversation: string; tab: string } | { kind: "seen"; run: string }

// While one of these is shown, more is to come: of a group, the end of the round is notified and not every reply.
const AWAITED = ["queued", "running", "behind"]
const ANSWER_MS = 300
const LONGEST_TEXT = 140
const MARK = "● "

const tab = uuid()
const channel = "BroadcastChannel" in window ? new BroadcastChannel("tavernkit-notices") : undefined
// Replies of which this tab is about to notify, and those that another tab takes care of.
const waiting = new Set<string>()
const taken = new Set<string>()
let awaited: Reply | undefined

export function watchReplyNotices(): void {
  channel?.addEventListener("message", ({ data }: MessageEvent<Notice>) => heard(data))
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") seen()
  })
}

export function isReplyAwaited(conversation: string): boolean {
  return awaited?.conversation === conversation
}

// Called whenever the place of the reply is drawn.
export function replyChanged({ run, status, speaker }: { run: string; status: string; speaker: string }): void {
  const conversation = shownConversation()
  if (AWAITED.includes(status)) {
    awaited = { conversation, run, speaker }
    return
  }
  const ended = awaited
  awaited = undefined
  // Who has stopped a reply knows that it has ended.
  if (ended?.conversation !== conversation || status === "canceled" || document.visibilityState === "visible") return
  if (!document.title.startsWith(MARK)) document.title = MARK + document.title
  if (areNotificationsOn()) notifyUnlessSeen(ended, status === "failed")
}

function notifyUnlessSeen(reply: Reply, hasFailed: boolean): void {
  const { run, conversation } = reply
  if (taken.has(run)) return
  waiting.add(run)
  channel?.postMessage({ kind: "about", run, conversation, tab } satisfies Notice)
  setTimeout(() => {
    if (waiting.delete(run)) void notify(reply, hasFailed)
  }, ANSWER_MS)
}

function heard(notice: Notice): void {
  if (notice.kind === "seen") {
    waiting.delete(notice.run)
    return
  }
  taken.add(notice.run)
  if (notice.conversation === shownConversation() && document.visibilityState === "visible") {
    channel?.postMessage({ kind: "seen", run: notice.run } satisfies Notice)
  }
  // Of two tabs that have begun at once, the one whose id comes first goes on.
  if (notice.tab < tab) waiting.delete(notice.run)
}

async function notify({ run, speaker }: Reply, hasFailed: boolean): Promise<void> {
  const options = {
    body: hasFailed ? failure() : beginning(),
    // One that is shown already is replaced, not doubled.
    tag: run,
    icon: document.querySelector<HTMLLinkElement>("link[rel=apple-touch-icon]")?.href ?? "",
    lang: document.documentElement.lang,
    data: { path: location.pathname },
  }
  const registration = await serviceWorker()
  if (registration) {
    await registration.showNotification(speaker, options)
  } else {
    const notification = new Notification(speaker, options)
    notification.addEventListener("click", () => {
      window.focus()
      notification.close()
    })
  }
}

async function serviceWorker(): Promise<ServiceWorkerRegistration | undefined> {
  const registration = await navigator.serviceWorker?.getRegistration()
  return registration?.active ? registration : undefined
}

function failure(): string {
  const sentence = _("The reply failed.")
  return isTextShown() ? (document.querySelector("#run .run-sentence")?.textContent ?? sentence) : sentence
}

function beginning(): string {
  const text = isTextShown() ? (lastReply()?.querySelector<HTMLElement>(".story")?.textContent ?? "").trim() : ""
  if (text === "") return _("New reply")
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text
}

function isTextShown(): boolean {
  return load(SHOW_TEXT_KEY) === "on"
}

function shownConversation(): string {
  const chat = document.querySelector<HTMLElement>("[data-conversation-channel-conversation-value]")
  return chat?.dataset.conversationChannelConversationValue ?? ""
}

function seen(): void {
  if (document.title.startsWith(MARK)) document.title = document.title.slice(MARK.length)
  void closeNotifications(location.pathname)
}

async function closeNotifications(path: string): Promise<void> {
  const shown = (await (await serviceWorker())?.getNotifications()) ?? []
  for (const notification of shown) if (notification.data?.path === path) notification.close()
}

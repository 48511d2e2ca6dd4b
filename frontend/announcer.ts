// Tells people who listen to the page that a reply began or ended; the words themselves they read when they like.
export function announce(sentence: string): void {
  const announcer = document.getElementById("announcer")
  if (announcer) announcer.textContent = sentence
}

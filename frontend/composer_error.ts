// The line below the composer, which the server may replace as well.
export function showComposerError(sentence: string): void {
  const line = document.getElementById("composer_error")
  if (line) line.textContent = sentence
}

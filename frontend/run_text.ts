interface Piece {
  offset: number
  text: string
}

// The text of a reply as far as it is known here, put together from pieces that may be early, late or double.
export class RunText {
  text = ""
  private early: Piece[] = []

  // False when something before the piece is missing.
  add(piece: Piece): boolean {
    if (piece.offset > this.text.length) {
      this.early.push(piece)
      return false
    }
    this.text += piece.text.slice(this.text.length - piece.offset)
    return this.addEarly()
  }

  // What the server has written down. It may be behind what was heard, but is never wrong.
  setFrom(server: string): boolean {
    if (!this.text.startsWith(server)) this.text = server
    return this.addEarly()
  }

  // The last word: what the server says of a reply that has ended.
  settle(server: string): void {
    this.text = server
    this.early = []
  }

  private addEarly(): boolean {
    const waiting = this.early.sort((a, b) => a.offset - b.offset)
    this.early = []
    for (const piece of waiting) {
      if (piece.offset > this.text.length) this.early.push(piece)
      else this.text += piece.text.slice(this.text.length - piece.offset)
    }
    return this.early.length === 0
  }
}

// Kept by run and not by element: the server may replace the element while the reply goes on.
const texts = new Map<string, RunText>()

export function runText(run: string): RunText {
  let text = texts.get(run)
  if (!text) {
    text = new RunText()
    // Only one reply at a time is written in a conversation; what was written before is a message by now.
    texts.clear()
    texts.set(run, text)
  }
  return text
}

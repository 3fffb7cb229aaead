// What `build` packs: LZMA, three tenths smaller than what browsers unpack themselves, in letters of which two hold 13 bits.

// The letters are those from # to ~ without <, so that they are the text of a script element.
function bytesOf91(text) {
  const out = new Uint8Array(Math.floor((text.length * 13) / 16));
  const value = (at) => text.charCodeAt(at) - (text.charCodeAt(at) > 60 ? 36 : 35);
  let [held, bits, n] = [0, 0, 0];
  for (let at = 0; at < text.length; at += 2) {
    held = (held << 13) | (value(at) * 91 + value(at + 1));
    for (bits += 13; bits >= 8; ) {
      bits -= 8;
      out[n++] = held >>> bits;
    }
    held &= (1 << bits) - 1;
  }
  return out;
}

// LZMA as Igor Pavlov's specification has it: a raw stream of so many bytes, whose `lc` and `pb` are given (`lp` is 0).
function unpacked(packed, length, lc, pb) {
  const out = new Uint8Array(length);
  const odds = (n) => new Uint16Array(n).fill(1024);
  // An array of such numbers, as a variable beyond 31 bits is slow.
  const now = new Uint32Array([0xffffffff, 0]);
  const [RANGE, CODE] = [0, 1];
  let at = 1;
  for (let i = 0; i < 4; i++) now[CODE] = (now[CODE] << 8) | packed[at++];

  function fill() {
    if (now[RANGE] >= 0x1000000) return;
    now[RANGE] <<= 8;
    now[CODE] = (now[CODE] << 8) | packed[at++];
  }
  function bit(of, i) {
    const odd = of[i];
    const bound = Math.imul(now[RANGE] >>> 11, odd) >>> 0;
    const one = now[CODE] >= bound;
    if (one) {
      now[RANGE] -= bound;
      now[CODE] -= bound;
      of[i] = odd - (odd >> 5);
    } else {
      now[RANGE] = bound;
      of[i] = odd + ((2048 - odd) >> 5);
    }
    fill();
    return one ? 1 : 0;
  }
  function tree(of, bits, from) {
    let node = 1;
    for (let i = 0; i < bits; i++) node = node * 2 + bit(of, from + node);
    return node - (1 << bits);
  }
  // The lowest bit first.
  function reversed(of, bits, from) {
    let [node, number] = [1, 0];
    for (let i = 0; i < bits; i++) {
      const b = bit(of, from + node);
      node = node * 2 + b;
      number += b << i;
    }
    return number;
  }
  function even(bits) {
    let number = 0;
    for (let i = 0; i < bits; i++) {
      now[RANGE] >>>= 1;
      const b = now[CODE] >= now[RANGE] ? 1 : 0;
      if (b) now[CODE] -= now[RANGE];
      fill();
      number = number * 2 + b;
    }
    return number;
  }
  const lengths = () => ({ more: odds(2), low: odds(128), middle: odds(128), high: odds(256) });
  function howLong({ more, low, middle, high }, place) {
    if (!bit(more, 0)) return 2 + tree(low, 3, place * 8);
    if (!bit(more, 1)) return 10 + tree(middle, 3, place * 8);
    return 18 + tree(high, 8, 0);
  }

  const literals = odds(0x300 << lc);
  const [isMatch, isRepeat, isLater, isThird, isFourth, isLonger] = [192, 12, 12, 12, 12, 192].map(odds);
  const [matches, repeats] = [lengths(), lengths()];
  const [slots, far, near] = [odds(256), odds(128), odds(16)];
  const last = new Uint32Array([1, 1, 1, 1]);
  let [state, n] = [0, 0];

  function literal() {
    const base = 0x300 * ((n ? out[n - 1] : 0) >> (8 - lc));
    let node = 1;
    if (state >= 7) {
      let same = out[n - last[0]];
      while (node < 256) {
        const hint = same >> 7;
        same = (same << 1) & 255;
        const b = bit(literals, base + 256 * (1 + hint) + node);
        node = node * 2 + b;
        if (b !== hint) break;
      }
    }
    while (node < 256) node = node * 2 + bit(literals, base + node);
    out[n++] = node & 255;
    state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
  }
  function distance(length) {
    const slot = tree(slots, 6, 64 * Math.min(length - 2, 3));
    if (slot < 4) return slot + 1;
    const bits = (slot >> 1) - 1;
    const base = (2 + (slot & 1)) * 2 ** bits + 1;
    if (slot < 14) return base + reversed(far, bits, base - 1 - slot);
    return base + even(bits - 4) * 16 + reversed(near, 4, 0);
  }
  while (n < length) {
    const place = n & ((1 << pb) - 1);
    if (!bit(isMatch, state * 16 + place)) {
      literal();
      continue;
    }
    let many;
    if (!bit(isRepeat, state)) {
      many = howLong(matches, place);
      last.copyWithin(1, 0, 3);
      last[0] = distance(many);
      state = state < 7 ? 7 : 10;
    } else {
      let which = 0;
      let short = false;
      if (!bit(isLater, state)) short = !bit(isLonger, state * 16 + place);
      else which = !bit(isThird, state) ? 1 : !bit(isFourth, state) ? 2 : 3;
      const again = last[which];
      last.copyWithin(1, 0, which);
      last[0] = again;
      many = short ? 1 : howLong(repeats, place);
      state = state < 7 ? (short ? 9 : 8) : 11;
    }
    for (const back = last[0]; many > 0; many--, n++) out[n] = out[n - back];
  }
  return out;
}

"""Which texts of a page have too little contrast with what lies behind them, in Chromium.

Source: WCAG 2.2, 1.4.3 (4.5 to 1, large text 3 to 1), and its definition of relative luminance
"""

from __future__ import annotations

from tests.support.browser import Browser

_LOOK = """
(() => {
  const colour = (text) => {
    const found = /^rgba?\\(([^)]*)\\)$/.exec(text);
    if (!found) throw new Error('no colour that is known: ' + text);
    const parts = found[1].split(/[ ,\\/]+/).map(Number);
    return {rgb: parts.slice(0, 3), alpha: parts.length > 3 ? parts[3] : 1};
  };
  const over = (rgb, alpha, below) =>
    rgb.map((one, place) => one * alpha + below[place] * (1 - alpha));
  const luminance = (rgb) => {
    const [red, green, blue] = rgb.map((one) => one / 255)
      .map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const behind = (element) => {
    const layers = [];
    for (let one = element; one; one = one.parentElement) {
      const layer = colour(getComputedStyle(one).backgroundColor);
      if (layer.alpha > 0) layers.unshift(layer);
      if (layer.alpha === 1) break;
    }
    return layers.reduce((below, layer) => over(layer.rgb, layer.alpha, below), [255, 255, 255]);
  };
  const opacity = (element) => {
    let whole = 1;
    for (let one = element; one; one = one.parentElement) whole *= getComputedStyle(one).opacity;
    return whole;
  };
  const seen = {texts: 0, faults: {}};
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.data.trim();
    const visible = element.checkVisibility({checkOpacity: true, checkVisibilityCSS: true});
    if (!text || !visible || !element.getClientRects().length) continue;
    seen.texts += 1;
    const style = getComputedStyle(element);
    const front = colour(style.color), below = behind(element);
    const shown = over(front.rgb, front.alpha * opacity(element), below);
    const lights = [luminance(shown), luminance(below)];
    const ratio = (Math.max(...lights) + 0.05) / (Math.min(...lights) + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (ratio >= (large ? 3 : 4.5)) continue;
    const kind = [element.tagName.toLowerCase(), ...element.classList].join('.');
    seen.faults[`${kind} ${style.color}: ${ratio.toFixed(2)}`] ??= text.slice(0, 40);
  }
  return seen;
})()
"""


def faint_texts(browser: Browser) -> list[str]:
    """Return one line for each kind of text of the open page that is too faint.

    The line names the element, its colour and its contrast, and has a text as an example.
    """
    seen = browser.run(_LOOK)
    assert seen["texts"], "the page shows no text"
    return [f"{kind}: {text!r}" for kind, text in seen["faults"].items()]

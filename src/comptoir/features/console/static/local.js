// Shows times in the reader's time zone, and days and numbers in the reader's form; the exact value is the title.
const time = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });

function number(text) {
  const digits = text.split(".")[1]?.length ?? 0;
  // the text itself, because it may have more digits than a number of JavaScript
  return new Intl.NumberFormat(undefined, { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(text);
}

export function localize(root) {
  for (const each of root.querySelectorAll("time[datetime]")) {
    const exact = each.dateTime;
    each.title = exact;
    each.textContent = (exact.includes("T") ? time : day).format(new Date(exact));
  }
  for (const each of root.querySelectorAll("data[value]")) {
    each.title = each.value;
    each.textContent = number(each.value);
  }
}

localize(document);

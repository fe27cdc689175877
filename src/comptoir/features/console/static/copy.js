// Shows the buttons that copy a text, and copies the text of the element that a button names.
for (const button of document.querySelectorAll("button[data-copies]")) {
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copies).textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select the text, and copy it";
    }
    setTimeout(() => { button.textContent = label; }, 3000);
  });
}

// A drawing fits the page; a click shows it in its own size, and another one as before.
document.addEventListener("click", (event) => {
  event.target.closest(".cell_output svg")?.classList.toggle("whole");
});

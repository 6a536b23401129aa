export default function Tour() {
  return <p>Tour</p>;
}
